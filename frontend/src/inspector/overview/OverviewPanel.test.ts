// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import type { AnyEvent } from "../../protocol/events";
import { RequestTrace } from "../../state/request/request-trace.svelte";
import { ACCEPTED, ended, RELEASED, token } from "../../trace/fixtures";
import { summaryOfTrace } from "../../trace/words/summary";
import OverviewPanel from "./OverviewPanel.svelte";

let panel: object;
let trace: RequestTrace;
let seq = 0;

beforeEach(() => {
  vi.useFakeTimers();
  trace = new RequestTrace("req_1");
  panel = mount(OverviewPanel, { target: document.body, props: { trace, onPanel() {}, onFollow() {} } });
});
afterEach(() => {
  vi.useRealTimers();
  return unmount(panel);
});

function receive(...events: AnyEvent[]) {
  for (const event of events) trace.receive(event, ++seq);
  flushSync();
}

const preempted = (at: number): AnyEvent => ({
  type: "generation.preempted",
  generation: 0,
  at,
  num_tokens: 40,
  num_blocks: 3,
});
const told = () => document.body.textContent;

it("looks for what stands out once a second while an answer is written, and at once when it is over", () => {
  receive(ACCEPTED, token(0, 100_000), preempted(110_000));
  expect(told()).toContain("the engine preempted the request once");
  receive(token(1, 120_000), preempted(130_000), token(2, 140_000));
  expect(told()).toContain("the engine preempted the request once");
  // The figures are those of the moment.
  expect(told()).toContain("3 tokens");
  vi.advanceTimersByTime(1000);
  flushSync();
  expect(told()).toContain("the engine preempted the request twice");
  receive(preempted(150_000), token(3, 160_000), ...ended("stop"));
  expect(told()).toContain("the engine preempted the request 3 times");
  expect(vi.getTimerCount()).toBe(0);
});

it("has the chat line's own figure of the first text, and beside it when it was seen, each since its moment", () => {
  const client = { keydown_unix_us: 990_000, first_paint_unix_us: 1_390_000, clock_offset_us: 0 };
  const observed = { type: "request.observed", at: 600_000, client } as unknown as AnyEvent;
  receive(ACCEPTED, token(0, 100_000), RELEASED, ...ended("stop"));
  expect(told()).toMatch(/first text sent\s*310\sms after it was accepted/);
  expect(told()).not.toContain("first text seen");
  receive(observed);
  expect(told()).toMatch(/first text sent\s*310\sms after it was accepted/);
  expect(told()).toMatch(/first text seen\s*400\sms after Send was pressed/);
  expect(summaryOfTrace(trace.whole).figures).toContain("0.31\u00a0s to first text");
});

it("tells what changes before anything is written at once", () => {
  receive(ACCEPTED, preempted(90_000));
  expect(told()).toContain("the engine preempted the request once");
  receive(preempted(95_000));
  expect(told()).toContain("the engine preempted the request twice");
});

it("has the features that the request travelled with, each with its origin", () => {
  const features = ["tool:calculator", "declined:rename", "memory", "attachments", "speculation:off", "new"];
  receive({ ...ACCEPTED, features } as AnyEvent);
  const rows = [...document.querySelectorAll("[data-testid=features] li")];
  expect(rows.map(({ textContent }) => textContent)).toEqual([
    "Tool calculator turned on by the user, for this chat",
    "Tool rename declines each call, since this request cannot ask its user",
    "Memory turned on by the user, for this chat",
    "Attached files turned on by the files of this chat",
    "Guessing ahead turned off by the user, for this chat",
    "new came with the request",
  ]);
});
