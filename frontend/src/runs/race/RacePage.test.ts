// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import { PARAMS } from "../../trace/fixtures";
import type { Session } from "../../protocol/api";
import { FakeSocket } from "../../transport/fake-socket";
import { Socket } from "../../transport/socket";
import RacePage from "./RacePage.svelte";

let page: object;
let posted: { path: string; body: Record<string, unknown> }[];

function reply(path: string): object {
  if (path === "/api/conversations") return { id: "c" };
  const [assistant_message, sibling] = [{ request_id: "req_a" }, { request_id: "req_b" }];
  return { user_message: { id: "q" }, assistant_message, siblings: [sibling] };
}

/** jsdom lays nothing out. */
class Watcher {
  observe() {}
  unobserve() {}
  disconnect() {}
}

beforeEach(() => {
  posted = [];
  vi.stubGlobal("ResizeObserver", Watcher);
  vi.stubGlobal("WebSocket", FakeSocket);
  vi.stubGlobal("fetch", (path: string, { body }: { body: string }) => {
    posted.push({ path, body: JSON.parse(body) as Record<string, unknown> });
    return Promise.resolve(new Response(JSON.stringify(reply(path))));
  });
  const model = { id: "m", default_params: PARAMS, default_system_prompt: "Be brief." };
  const session = { models: [model], default_model: "m" } as unknown as Session;
  const socket = new Socket();
  page = mount(RacePage, { target: document.body, props: { from: null, session, socket } });
  flushSync();
});
afterEach(() => {
  vi.unstubAllGlobals();
  return unmount(page);
});

const lanes = () =>
  [...document.querySelectorAll('[data-testid="lane"] .soft')].map((each) => each.textContent);

function enter(field: HTMLInputElement | HTMLTextAreaElement, value: string) {
  field.value = value;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  flushSync();
}

it("begins with the model's own system prompt, and keeps over the answers the settings they were made with", async () => {
  enter(document.querySelector("textarea")!, "Sea");
  document.querySelector("form")!.requestSubmit();
  await vi.waitFor(() => expect(posted).toHaveLength(2));
  expect(posted[0]!.body).toMatchObject({ system_prompt: "Be brief." });
  await vi.waitFor(() => expect(document.querySelector(".fork")!.textContent).toContain("Side by side"));
  const before = lanes();
  enter(document.querySelector<HTMLInputElement>('input[type="number"]')!, "1.9");
  expect(lanes()).toEqual(before);
});
