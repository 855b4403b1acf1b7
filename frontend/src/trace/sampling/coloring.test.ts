import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { AnyEvent, SafetyChecked, TokenSampled } from "../../protocol/events";
import { sharedText } from "../bytes";
import { colored, gaps, type Measure, MEASURES, stepOf } from "./coloring";
import { foldAll, RELEASED, token, WITHHELD } from "../fixtures";
import type { TraceView } from "../view";

const ALL = Object.keys(MEASURES) as Measure[];
const LOGS = new URL("../../../../tests/golden/logs/", `file://${import.meta.dirname}/`).pathname;

function golden(name: string): TraceView {
  const { frames } = JSON.parse(readFileSync(`${LOGS}${name}.json`, "utf8")) as {
    frames: { events: AnyEvent[] }[];
  };
  return foldAll(frames.flatMap(({ events }) => events));
}

const fills = (view: TraceView, measure: Measure) => colored(view, measure).marks.map(({ fill }) => fill);
const values = (view: TraceView, measure: Measure) => colored(view, measure).marks.map(({ value }) => value);
const sampled = (position: number, rest: Partial<TokenSampled>) => ({
  ...token(position, 1000 * position),
  ...rest,
});

describe.each(["finished", "lost", "remote", "stopped"])("the log %s", (name) => {
  const view = golden(name);

  it.each(ALL)(
    "gives each token one mark by %s, and each fill that is used stands in the legend",
    (measure) => {
      const { marks, legend } = colored(view, measure);
      expect(marks).toHaveLength(view.tokens.length);
      const kinds = new Set(legend.map(({ fill }) => fill.replace("group-1", "group-0")));
      for (const { fill } of marks) expect(kinds).toContain(fill.replace("group-1", "group-0"));
    },
  );
});

it("takes a less likely, less certain or lower ranked token for a later step", () => {
  const shares = [0.95, 0.6, 0.3, 0.1, 0.02, 0.001];
  const view = foldAll(
    shares.map((share, index) =>
      sampled(index, { logprob: Math.log(share), rank: 1 + index ** 2, entropy: index }),
    ),
  );
  expect(fills(view, "probability")).toEqual([0, 1, 2, 3, 4, 5].map((step) => `step-${step}`));
  expect(fills(view, "rank")).toEqual([0, 1, 2, 3, 4, 5].map((step) => `step-${step}`));
  expect(fills(view, "entropy")).toEqual([0, 2, 3, 4, 4, 5].map((step) => `step-${step}`));
  expect(colored(view, "probability").note).toContain("from 95.0\u00a0% to 0.10\u00a0%");
});

it("calls what a server elsewhere did not report unknown, and does not put it on the scale", () => {
  const view = golden("remote");
  const marks = colored(view, "probability").marks;
  view.tokens.forEach(({ logprob }, index) => {
    expect(marks[index]!.fill === "unknown").toBe(logprob === null);
  });
  expect(new Set(values(view, "entropy"))).toEqual(new Set(["not reported by this server"]));
  expect(new Set(fills(view, "cache"))).toEqual(new Set(["unknown"]));
});

it("takes time from the token before, and from none across a gap in the log", () => {
  const view = foldAll([token(0, 100), token(1, 350), token(3, 900)]);
  expect(gaps(view.tokens)).toEqual([null, 250, null]);
  expect(fills(view, "time")).toEqual(["unknown", "step-0", "unknown"]);
  const slower = foldAll([token(0, 0), token(1, 1000), token(2, 65_000)]);
  expect(fills(slower, "time")).toEqual(["unknown", "step-0", "step-5"]);
});

it("parts blocks of the cache, the newest token's not being full before it is computed", () => {
  const prompt = { type: "prompt.tokenized", at: 1, ids: [1, 2, 3], pieces: [], special: [] } as unknown;
  const lookup = {
    type: "cache.looked_up",
    at: 2,
    block_size: 2,
    hits: [false],
    num_cached_tokens: 0,
  } as unknown;
  const view = foldAll([prompt as AnyEvent, lookup as AnyEvent, ...[0, 1, 2].map((each) => token(each, 5))]);
  expect(values(view, "cache")).toEqual(["in block 2, full", "block 3, not full", "block 3, not full"]);
});

it("shows what was checked and released together, what was flagged, and what never was in the log", () => {
  const check = (start: number, end: number, verdict: SafetyChecked["verdict"]) =>
    ({
      type: "safety.checked",
      at: 5,
      layer: "output",
      start,
      end,
      verdict,
      scores: [],
    }) as unknown as AnyEvent;
  const release = (text: string, num_tokens: number) => ({ ...RELEASED, text, num_tokens }) as AnyEvent;
  const view = foldAll([
    ...[0, 1, 2, 3].map((each) => token(each, 5)),
    check(0, 3, "allow"),
    release("😀ab", 2),
    check(3, 5, "flag"),
    release("cd", 3),
    WITHHELD,
  ]);
  expect(fills(view, "safety")).toEqual(["group-0", "group-0", "flagged", "unknown"]);
  expect(colored(view, "safety").note).toContain("withheld 1 more (self harm)");
});

it("counts an edge to the step before it", () => {
  expect([0, 1, 1.5, 2, 3].map((value) => stepOf(value, [1, 2]))).toEqual([0, 0, 1, 1, 2]);
});

it("knows the character that tokens are only together", () => {
  const pieces = [btoa("a"), btoa("\xf0\x9f"), btoa("\x98"), btoa("\x80!"), btoa("b"), btoa("\xff")];
  expect(sharedText(pieces)).toEqual([null, "😀!", "😀!", "😀!", null, null]);
});
