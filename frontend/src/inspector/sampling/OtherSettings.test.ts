// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import { RequestTrace } from "../../state/request/request-trace.svelte";
import { ACCEPTED, token } from "../../trace/fixtures";
import OtherSettings from "./OtherSettings.svelte";

let panel: object;
let trace: RequestTrace;

beforeEach(() => {
  trace = new RequestTrace("req_a");
  const second = { ...token(1, 300_000), id: 11, piece: btoa("b"), u: 0.95, low: 0.88, high: 1 };
  const events = [ACCEPTED, token(0, 100_000), second];
  events.forEach((event, index) => trace.receive(event, index + 1));
  trace.selected = 0;
  panel = mount(OtherSettings, { target: document.body, props: { trace, view: trace.whole } });
  flushSync();
});
afterEach(() => unmount(panel));

const told = () => document.querySelector('[data-testid="what-if"]')!.textContent.replace(/\s+/g, " ");
const share = (id: number) =>
  document.querySelector(`[data-testid="bar"][data-id="${id}"] .number`)!.textContent;

function set(name: string, value: string) {
  const input = document.querySelector<HTMLInputElement>(`[data-testid="what-if-${name}"]`)!;
  input.value = value;
  input.dispatchEvent(new Event("input", { bubbles: true }));
  flushSync();
}

const button = (text: string) =>
  [...document.querySelectorAll("button")].find((each) => each.textContent.includes(text));

it("begins with the request's own settings and the chances that were recorded", () => {
  expect(told()).toContain("Drag a slider");
  expect(share(10)).toBe("88.1\u00a0%");
  expect(share(12)).toBe("out");
  expect(button("Reset")!.disabled).toBe(true);
});

it("moves the bars at once, and says where the answer parts and what would have come", () => {
  set("top_k", "1");
  expect(share(10)).toBe("100\u00a0%");
  expect(share(11)).toBe("out");
  expect(told()).toContain("At top-k 1 the same draws would have given: a a…");
  expect(told()).toContain("It differs from token 2 on, which was “b”.");
  button("Go to token 2")!.click();
  expect(trace.selected).toBe(1);
  flushSync();
  expect(told()).toContain("The draw would fall on “a”, not on “b”.");
});

it("gives the request's own settings back", () => {
  set("temperature", "1.5");
  expect(share(10)).not.toBe("88.1\u00a0%");
  button("Reset")!.click();
  flushSync();
  expect(share(10)).toBe("88.1\u00a0%");
});

it("offers no branch where there is no server", () => {
  set("top_k", "1");
  expect(button("Continue from there")).toBeUndefined();
});
