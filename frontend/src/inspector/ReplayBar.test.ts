import { afterEach, beforeEach, expect, it } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import { RequestTrace } from "../state/request-trace.svelte";
import { ACCEPTED, ended, RELEASED, token } from "../trace/fixtures";
import ReplayBar from "./ReplayBar.svelte";

let bar: object;
let trace: RequestTrace;

beforeEach(() => {
  trace = new RequestTrace("req_a");
  [ACCEPTED, token(0, 100_000), token(1, 300_000), RELEASED, ...ended("stop")].forEach((event, index) =>
    trace.receive(event, index + 1),
  );
  bar = mount(ReplayBar, { target: document.body, props: { trace } });
  flushSync();
});
afterEach(() => {
  trace.close();
  return unmount(bar);
});

const slider = () => document.querySelector<HTMLInputElement>("[type=range]")!;
const place = () => document.querySelector('[data-testid="replay-position"]')!.textContent;

function press(key: string): boolean {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
  slider().dispatchEvent(event);
  flushSync();
  return event.defaultPrevented;
}

it("walks from token to token with the arrow keys", () => {
  expect(place()).toBe("2 / 2 · 340\u00a0ms");
  press("ArrowLeft");
  expect(place()).toBe("1 / 2 · 100\u00a0ms");
  press("ArrowLeft");
  expect(place()).toContain("0 / 2");
  press("ArrowRight");
  expect(place()).toBe("1 / 2 · 100\u00a0ms");
  expect(slider().getAttribute("aria-valuetext")).toBe("100\u00a0ms, 1 token");
});

it("plays and pauses with the space bar and leaves other keys to the slider", () => {
  press(" ");
  expect(trace.isPlaying).toBe(true);
  press(" ");
  expect(trace.isPlaying).toBe(false);
  expect(press("Home")).toBe(false);
});

it("goes to the moment the slider is set to, and back to the end", () => {
  slider().value = "150000";
  slider().dispatchEvent(new Event("input", { bubbles: true }));
  flushSync();
  expect(place()).toBe("1 / 2 · 150\u00a0ms");
  const end = [...document.querySelectorAll("button")].at(-1)!;
  end.click();
  flushSync();
  expect(place()).toContain("2 / 2");
  expect(end.getAttribute("aria-disabled")).toBe("true");
});
