// @vitest-environment jsdom
import { afterEach, expect, it } from "vitest";
import { mount, unmount } from "svelte";
import type { AnyEvent } from "../protocol/events";
import {
  ACCEPTED,
  CANCELLED,
  ended,
  failed,
  FIGURES,
  foldAll,
  RELEASED,
  token,
  WITHHELD,
} from "../trace/fixtures";
import { summaryOfMessage, summaryOfTrace } from "../trace/words/summary";
import type { Message } from "../protocol/api";
import SummaryLine from "./SummaryLine.svelte";

const WRITTEN = [ACCEPTED, token(0, 100_000), token(1, 300_000), RELEASED];
const QUEUED: AnyEvent = { type: "generation.queued", generation: 0, at: 5000, attempt: 1, queue_depth: 0 };
let line: object | null = null;
afterEach(() => {
  if (line) void unmount(line);
  line = null;
});

function summary(events: AnyEvent[]): string[] {
  line = mount(SummaryLine, { target: document.body, props: { summary: summaryOfTrace(foldAll(events)) } });
  return [...document.querySelectorAll(".summary > span")].map((span) => span.textContent);
}

it.each([
  ["what is only checked", [ACCEPTED], "checking"],
  ["what no worker has taken", [ACCEPTED, QUEUED], "queued"],
  ["what stands behind others", [ACCEPTED, { ...QUEUED, queue_depth: 2 }], "queued, 2 in front"],
  ["an answer under way", WRITTEN, "writing"],
  ["one whose Stop has not taken effect", [ACCEPTED, QUEUED, CANCELLED], "stopping"],
  ["one that was stopped", [...WRITTEN, CANCELLED, ...ended("abort")], "stopped"],
  ["one that was stopped before its start", [ACCEPTED, CANCELLED, failed("gateway", "cancelled")], "stopped"],
  ["one that reached its limit", [...WRITTEN, ...ended("length")], "cut at the length limit"],
  ["one that was withheld", [...WRITTEN, WITHHELD, ...ended("content_filter")], "partly withheld"],
  ["one of which nothing was let out", [ACCEPTED, WITHHELD, ...ended("content_filter")], "withheld"],
  ["a message that was blocked", [ACCEPTED, failed("safety", "blocked")], "blocked"],
  ["a failure", [ACCEPTED, QUEUED, failed("generation", "no_worker")], "failed"],
] as [string, AnyEvent[], string][])("names %s", (_, events, word) => expect(summary(events)[0]).toBe(word));

it("says nothing but the figures of an answer that ended by itself, also when Stop came too late", () => {
  const figures = ["2 tokens", "0.31\u00a0s to first text", "5 tokens/s"];
  expect(summary([...WRITTEN, CANCELLED, ...ended("stop")])).toEqual(figures);
});

it.each([
  ["done", null, "stop", null],
  ["done", null, "length", "cut at the length limit"],
  ["withheld", null, "content_filter", "partly withheld"],
  ["stopped", null, "abort", "stopped"],
  ["blocked", { stage: "safety", code: "blocked", message: "" }, "", "blocked"],
  ["failed", { stage: "generation", code: "no_worker", message: "" }, "", "failed"],
] as const)("tells of a message alone that it is %s: %o, %s", (status, error, finish_reason, state) => {
  const message = { status, error, figures: { ...FIGURES, finish_reason } } as unknown as Message;
  expect(summaryOfMessage(message)?.state).toBe(state);
});

it("tells an answer that had no room for more from one that reached what was asked for", () => {
  const figures = { ...FIGURES, finish_reason: "length", max_tokens: 12 };
  const message = { status: "done", error: null, figures, num_kept: 3 } as unknown as Message;
  expect(summaryOfMessage(message)!.state).toBe("cut: no room left");
  expect(summaryOfMessage({ ...message, num_kept: 4 })!.state).toBe("cut at the length limit");
});

it("shows a message's saved figures, and none that it does not have", () => {
  const message = { status: "done", error: null, figures: FIGURES } as unknown as Message;
  const figures = ["8 tokens", "0.08\u00a0s to first text"];
  expect(summaryOfMessage(message)!.figures).toEqual(figures);
  const blank = { ...FIGURES, usage: null, cost_nano: null, first_text_us: null };
  expect(summaryOfMessage({ ...message, figures: blank })!.figures).toEqual([]);
  expect(summaryOfMessage({ ...message, figures: null })).toBeNull();
});
