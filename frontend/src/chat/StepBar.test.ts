// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import type { AnyEvent, TokenProposed } from "../protocol/events";
import { RequestTrace } from "../state/request/request-trace.svelte";
import { ACCEPTED, token } from "../trace/fixtures";
import StepBar from "./StepBar.svelte";

let bar: object;
let trace: RequestTrace;
let numEvents: number;
let steps: { position: number }[];

beforeEach(() => {
  vi.useFakeTimers();
  steps = [];
  vi.stubGlobal("fetch", (_: string, { body }: { body: string }) => {
    steps.push(JSON.parse(body) as (typeof steps)[0]);
    return Promise.resolve(new Response(null, { status: 204 }));
  });
  numEvents = 0;
  trace = new RequestTrace("req_a");
  receive(ACCEPTED);
  propose(0);
  bar = mount(StepBar, { target: document.body, props: { trace, tokenizerUrl: "" } });
  flushSync();
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  return unmount(bar);
});

function receive(event: AnyEvent): void {
  trace.receive(event, ++numEvents);
}

function propose(position: number): void {
  receive({
    type: "token.proposed",
    at: position + 1,
    token: token(position, position + 1),
  } as TokenProposed);
}

function take(position: number): void {
  receive(token(position, position + 1));
  flushSync();
}

const said = () => document.querySelector('[aria-live="polite"]')!.textContent.trim();
const button = (name: string) =>
  [...document.querySelectorAll("button")].find((each) => each.textContent.trim() === name)!;

it("says what it waits for", () => {
  expect(said()).toBe("Waiting for your choice. Token 1 proposed: ·a");
  take(0);
  propose(1);
  flushSync();
  expect(said()).toBe("Waiting for your choice. Token 2 proposed: ·a");
});

it("says once that it takes the drawn tokens by itself, and nothing of each", async () => {
  button("Auto").click();
  flushSync();
  const told: string[] = [said()];
  const observer = new MutationObserver(() => told.push(said()));
  observer.observe(document.querySelector('[aria-live="polite"]')!, { characterData: true, subtree: true });
  for (const position of [0, 1, 2]) {
    await vi.advanceTimersByTimeAsync(500);
    take(position);
    propose(position + 1);
    flushSync();
  }
  expect(steps.map(({ position }) => position)).toEqual([0, 1, 2]);
  expect(told).toEqual(["Auto takes the drawn tokens."]);
  button("Auto").click();
  flushSync();
  expect(said()).toBe("Waiting for your choice. Token 4 proposed: ·a");
  observer.disconnect();
});
