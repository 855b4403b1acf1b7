// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { ConversationSummary } from "../../protocol/api";
import { Conversations } from "./conversations.svelte";

let listed: ConversationSummary[];
/** The search text of each request for the list. */
let queries: (string | null)[];
let isSignedIn: boolean;
let conversations: Conversations;
const row = (id: string, is_streaming: boolean) => ({
  id,
  title: id.toUpperCase(),
  updated_at: "",
  is_pinned: false,
  is_streaming,
});

beforeEach(() => {
  vi.useFakeTimers();
  queries = [];
  isSignedIn = true;
  vi.stubGlobal("fetch", (path: string, { method, body }: { method: string; body?: string }) => {
    if (method === "GET") queries.push(new URL(path, "http://x").searchParams.get("q"));
    if (!isSignedIn) return Promise.resolve(new Response("{}", { status: 401 }));
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
  expect(conversations.told).toBe("The answer in “B” has ended.");
  expect(vi.getTimerCount()).toBe(0);
  conversations.show("b");
  expect([...conversations.unread]).toEqual([]);
});

it("takes one that a search does not show for no completed one, and asks on for all", async () => {
  listed = [row("a", true)];
  await conversations.load();
  conversations.query = "lighthouse";
  listed = [];
  await conversations.load();
  expect([...conversations.unread]).toEqual([]);
  listed = [row("a", false), row("b", false)];
  await vi.runOnlyPendingTimersAsync();
  expect(queries).toEqual(["", "lighthouse", ""]);
  expect([...conversations.unread]).toEqual(["a"]);
  expect(conversations.list).toEqual([]);
});

it("asks no more for one that was deleted, here or elsewhere", async () => {
  listed = [row("a", true), row("b", true)];
  await conversations.load();
  conversations.forget("a");
  expect(vi.getTimerCount()).toBe(1);
  listed = [];
  await vi.runOnlyPendingTimersAsync();
  expect(vi.getTimerCount()).toBe(0);
});

it("asks on for the conversation on the screen, whose stream ends before that is saved", async () => {
  listed = [row("a", true)];
  conversations.show("a");
  await conversations.load();
  listed = [row("a", false)];
  await vi.runOnlyPendingTimersAsync();
  expect(conversations.list[0]?.is_streaming).toBe(false);
  expect([...conversations.unread]).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

it("asks for what the page follows itself only once it no longer does, and on for any other", async () => {
  listed = [row("a", true)];
  conversations.show("a");
  await conversations.load();
  conversations.follow("a");
  expect(vi.getTimerCount()).toBe(0);
  listed = [row("a", true), row("b", true)];
  await conversations.load();
  expect(vi.getTimerCount()).toBe(1);
  listed = [row("a", true), row("b", false)];
  await vi.runOnlyPendingTimersAsync();
  expect([[...conversations.unread], vi.getTimerCount()]).toEqual([["b"], 0]);
  conversations.follow(null);
  listed = [row("a", false), row("b", false)];
  await vi.runOnlyPendingTimersAsync();
  expect([conversations.list[0]?.is_streaming, vi.getTimerCount()]).toEqual([false, 0]);
});

it("asks no more once nobody is signed in", async () => {
  listed = [row("a", true)];
  await conversations.load();
  isSignedIn = false;
  await vi.runOnlyPendingTimersAsync();
  expect([queries.length, vi.getTimerCount()]).toEqual([2, 0]);
});

it("knows a title as the server keeps it, also of what a search hides", async () => {
  listed = [row("a", false)];
  await conversations.load();
  listed = [];
  await conversations.rename("a", " Lighthouses ");
  expect(conversations.titles.get("a")).toBe("Lighthouses");
});
