// @vitest-environment jsdom
import { afterEach, expect, it, vi } from "vitest";
import { mount, unmount } from "svelte";
import { Conversations } from "../state/conversation/conversations.svelte";
import Sidebar from "./Sidebar.svelte";

const conversations = new Conversations();
const onSignOut = vi.fn();
let sidebar: object;
let isStreaming = true;
let saidAt = "";

vi.stubGlobal("fetch", () => {
  const listed = [{ id: "a", title: "", updated_at: saidAt, is_streaming: isStreaming }];
  return Promise.resolve(new Response(JSON.stringify({ conversations: listed })));
});

function show(): void {
  const nothing = { session: null, current: null, page: "chat", theme: "system", gone: new Set(), told: "" };
  const given = { ...nothing, conversations, onDelete: vi.fn(), onHelp: vi.fn(), onSignOut };
  sidebar = mount(Sidebar, { target: document.body, props: given as never });
}

afterEach(() => {
  conversations.close();
  return unmount(sidebar);
});

it("tells of each end, also in the same words again", async () => {
  show();
  const region = document.querySelector('[role="status"]')!;
  const told: string[] = [];
  const observer = new MutationObserver(() => told.push(region.textContent));
  observer.observe(region, { childList: true, characterData: true, subtree: true });
  for (const streams of [true, false, true, false]) {
    isStreaming = streams;
    await conversations.load();
    await vi.waitFor(() => expect(told.length).toBe(Math.max(told.length, streams ? 0 : 1)));
  }
  const sentence = "The answer in “New chat” has ended.";
  await vi.waitFor(() => expect(told).toEqual([sentence, "", sentence]));
  observer.disconnect();
});

it("says when somebody signs out, before the page is left", () => {
  show();
  const form = document.querySelector<HTMLFormElement>('form[action="/accounts/logout/"]')!;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.requestSubmit();
  expect(onSignOut).toHaveBeenCalledOnce();
});

it("names each list of conversations by the days on which something was said in them", async () => {
  saidAt = new Date(Date.now() - 3 * 86_400_000).toISOString();
  show();
  await conversations.load();
  await vi.waitFor(() => expect(document.querySelector("[aria-labelledby]")).not.toBeNull());
  const ids = document.querySelector("[aria-labelledby]")!.getAttribute("aria-labelledby")!.split(/\s/);
  expect(ids.map((id) => document.getElementById(id)?.textContent)).toEqual(["Previous 7 days"]);
});
