// @vitest-environment jsdom
import { afterEach, expect, it, vi } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import { RequestTrace } from "../state/request/request-trace.svelte";
import type { Thought } from "../trace/thinking";
import Thinking from "./Thinking.svelte";

const OPEN: Thought = { text: "Well", numTokens: 2, durationUs: 3_100_000, cause: null, isOpen: true };
let row: object;
afterEach(() => {
  void unmount(row);
  vi.unstubAllGlobals();
});

function show(thought: Thought) {
  row = mount(Thinking, { target: document.body, props: { thought, trace: new RequestTrace("req_a") } });
  flushSync();
}
const text = () => document.body.textContent.replace(/\s+/g, " ").trim();

it("folds the thinking and says how long it took", () => {
  show({ ...OPEN, cause: "budget", isOpen: false });
  expect(text()).toContain("Thought for 3.10 s, 2 tokens, until its budget was spent");
  expect(document.querySelector("details")!.open).toBe(false);
  expect(document.querySelector("button")).toBe(null);
});

it("asks for the answer once", () => {
  const asked: string[] = [];
  vi.stubGlobal("fetch", (address: RequestInfo) => {
    asked.push(String(address));
    return Promise.resolve(new Response("{}", { status: 202 }));
  });
  show(OPEN);
  const button = document.querySelector("button")!;
  button.click();
  button.click();
  flushSync();
  expect(button.textContent).toBe("The answer comes");
  expect(asked).toEqual(["/api/requests/req_a/answer-now"]);
});
