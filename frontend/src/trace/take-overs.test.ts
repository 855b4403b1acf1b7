import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { AnyEvent } from "../protocol/events";
import { intervalRows } from "./compare/figures";
import { ACCEPTED, foldAll, token } from "./fixtures";
import { duration } from "./format";
import { longestWait } from "./journey/longest-wait";
import { takeOvers } from "./take-overs";
import { intervalTable } from "./timing/intervals";
import { spans } from "./timing/spans";
import { criticalPath } from "./timing/waits";

const LOGS = new URL("../../../tests/golden/logs/", `file://${import.meta.dirname}/`).pathname;
const LOST = "Worker lost, taken over";
const DECODE = "Decode of the rest";

function eventsOf(name: string): AnyEvent[] {
  const { frames } = JSON.parse(readFileSync(`${LOGS}${name}.json`, "utf8")) as {
    frames: { events: AnyEvent[] }[];
  };
  return frames.flatMap(({ events }) => events);
}

const lost = (at: number, silent_us: number, cause = "lost") =>
  ({
    type: "generation.interrupted",
    generation: 0,
    at,
    attempt: 1,
    cause,
    silent_us,
  }) as unknown as AnyEvent;

describe.each(["taken_over", "second_taken_over"])("the recorded log %s", (name) => {
  const events = eventsOf(name);
  const view = foldAll(events);
  const at = events.find(({ type }) => type === "generation.interrupted")!.at;
  const start = view.tokens.findLast((each) => each.at < at)!.at;
  const end = view.tokens.find((each) => each.at > at)!.at;

  it("has a phase of its own from the last token to the next, and phases that sum to the whole", () => {
    const { intervals, unexplained, ...whole } = intervalTable(view);
    expect(intervals.filter(({ label }) => label === LOST)).toMatchObject([{ start, end, stage: "queue" }]);
    for (const { label, start: from, end: to } of intervals)
      if (label !== LOST) expect(to <= start || from >= end).toBe(true);
    const sum = intervals.reduce((total, { spent, isBeside }) => total + (isBeside ? 0 : spent), 0);
    expect(sum + unexplained).toBe(whole.end - whole.start);
  });

  it("shows the reader's wait in the same phases", () => {
    const path = criticalPath(view);
    expect(path.filter(({ label }) => label === LOST)).toMatchObject([{ start, end }]);
    expect(path.filter(({ label, end: to }) => label === DECODE && to > end)).toHaveLength(1);
  });

  it("compares the decoding before and after the pause as one row", () => {
    const parts = intervalTable(view).intervals.filter(({ label }) => label === DECODE);
    const spent = parts.reduce((sum, part) => sum + part.spent, 0);
    const row = intervalRows([view]).find(({ label }) => label === DECODE)!;
    expect(row.cells.map(({ text }) => text)).toEqual([duration(spent)]);
  });

  it("names the pause as the longest wait, and the token that ended it", () => {
    const { position } = view.tokens.find((each) => each.at > at)!;
    expect(longestWait(view)).toEqual({ scene: null, position, title: LOST, spent: end - start });
  });
});

it("begins at the last word of a worker that drew no token", () => {
  const view = foldAll([ACCEPTED, lost(900_000, 600_000, "stopped"), token(0, 1_000_000)]);
  const label = "Worker stopped, taken over";
  expect(takeOvers(view)).toEqual([{ label, start: 300_000, end: 1_000_000, position: 0 }]);
  expect(intervalTable(view).intervals).toMatchObject([{ label, start: 300_000, end: 1_000_000 }]);
});

it("makes one pause of two workers lost one after the other, and two of those with a token between", () => {
  const [first, second] = [lost(900_000, 700_000), lost(1_900_000, 800_000)];
  const together = foldAll([token(0, 100_000), first, second, token(1, 2_000_000)]);
  expect(takeOvers(together)).toMatchObject([{ start: 100_000, end: 2_000_000 }]);
  const apart = foldAll([token(0, 100_000), first, token(1, 1_000_000), second, token(2, 2_000_000)]);
  expect(takeOvers(apart).map(({ start, end }) => [start, end])).toEqual([
    [100_000, 1_000_000],
    [1_000_000, 2_000_000],
  ]);
});

it("ends with a request that fails before another token, and is open while none has come", () => {
  const events = [ACCEPTED, token(0, 100_000), token(1, 200_000), lost(900_000, 700_000)];
  const running = foldAll(events);
  expect(takeOvers(running)).toMatchObject([{ start: 200_000, end: null }]);
  expect(spans(running).filter(({ isOpen }) => isOpen)).toMatchObject([{ stage: "queue", start: 200_000 }]);
  const failed = foldAll([...events, { type: "request.failed", at: 1_500_000 } as unknown as AnyEvent]);
  expect(intervalTable(failed).intervals.at(-1)).toMatchObject({
    label: LOST,
    start: 200_000,
    end: 1_500_000,
  });
});
