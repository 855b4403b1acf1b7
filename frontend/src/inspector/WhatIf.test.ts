import { afterEach, beforeEach, expect, it } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import { RequestTrace } from "../state/request-trace.svelte";
import { ACCEPTED, PARAMS, token } from "../trace/fixtures";
import WhatIf from "./WhatIf.svelte";

let panel: object;
let trace: RequestTrace;

beforeEach(() => {
  trace = new RequestTrace("req_a");
  const second = { ...token(1, 300_000), id: 11, piece: btoa("b"), u: 0.95, low: 0.88, high: 1 };
  const events = [ACCEPTED, token(0, 100_000), second];
  events.forEach((event, index) => trace.receive(event, index + 1));
  panel = mount(WhatIf, {
    target: document.body,
    props: { trace, token: trace.whole.tokens[0]!, params: PARAMS },
  });
  flushSync();
});
afterEach(() => unmount(panel));

const told = () => document.querySelector('[data-testid="what-if"]')!.textContent.replace(/\s+/g, " ");

function set(name: string, value: string) {
  const input = document.querySelector<HTMLInputElement>(`[data-testid="what-if-${name}"]`)!;
  input.value = value;
  input.dispatchEvent(new Event("input", { bubbles: true }));
  flushSync();
}

const button = (text: string) =>
  [...document.querySelectorAll("button")].find((each) => each.textContent.includes(text));

it("begins with the request's own settings, with which nothing is another", () => {
  expect(told()).toContain("This token “·a”, as it was.");
  expect(told()).toContain("all 2 tokens the same");
  expect(document.body.textContent).toContain("These are the request's own settings");
});

it("tells the first token that another setting changes, and leads to it and back", () => {
  set("top_k", "1");
  expect(told()).toContain("This token “·a”, as it was.");
  expect(told()).toContain("1 token the same; then “·a” in the place of “b”");
  button("Go to token 2")!.click();
  expect(trace.selected).toBe(1);
  button("Back to the request's settings")!.click();
  flushSync();
  expect(told()).toContain("all 2 tokens the same");
});
