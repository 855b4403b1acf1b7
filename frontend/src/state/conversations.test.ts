import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { ConversationSummary } from "../transport/api";
import { Conversations } from "./conversations.svelte";

let listed: ConversationSummary[];
let conversations: Conversations;
const row = (id: string, is_streaming: boolean) => ({
  id,
  title: id.toUpperCase(),
  updated_at: "",
  is_streaming,
});

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("fetch", (path: string, { method, body }: { method: string; body?: string }) => {
    const given =
      method === "PATCH" ? { title: (JSON.parse(body!) as { title: string }).title.trim() } : null;
    return Promise.resolve(new Response(JSON.stringify(given ?? { conversations: listed })));
  });
  conversations = new Conversations();
});
afterEach(() => {
  conversations.close();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it("marks what was completed elsewhere until it is looked at", async () => {
  listed = [row("a", true), row("b", true)];
  conversations.show("a");
  await conversations.load();
  listed = [row("a", false), row("b", true)];
  await vi.runOnlyPendingTimersAsync();
  expect([...conversations.unread]).toEqual([]);
  listed = [row("a", false), row("b", false)];
  await vi.runOnlyPendingTimersAsync();
  expect([...conversations.unread]).toEqual(["b"]);
  expect(conversations.told).toBe("The answer in “B” is complete.");
  expect(vi.getTimerCount()).toBe(0);
  conversations.show("b");
  expect([...conversations.unread]).toEqual([]);
});

it("takes one that a search does not show for no completed one", async () => {
  listed = [row("a", true)];
  await conversations.load();
  listed = [];
  await vi.runOnlyPendingTimersAsync();
  expect([...conversations.unread]).toEqual([]);
  listed = [row("a", false)];
  await vi.runOnlyPendingTimersAsync();
  expect([...conversations.unread]).toEqual(["a"]);
});

it("knows a title as the server keeps it, also of what a search hides", async () => {
  listed = [row("a", false)];
  await conversations.load();
  listed = [];
  await conversations.rename("a", " Lighthouses ");
  expect(conversations.titles.get("a")).toBe("Lighthouses");
});
