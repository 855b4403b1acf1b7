import fc from "fast-check";
import { expect, it } from "vitest";
import type { AnyEvent, Segment } from "../../protocol/events";
import { cacheWords } from "./left-out";
import { pricesOf, runsOf } from "./prices";
import { foldAll, LOOKED_UP } from "../fixtures";
import type { TraceView } from "../view";

const UNITS = { uncached_input: 100, cache_read: 10, cache_write_5m: 125, cache_write_1h: 200, output: 300 };
const KINDS = Object.keys(UNITS) as (keyof typeof UNITS)[];

it("gives each segment its tokens' price, and all of them the bill's", () => {
  const counts = fc.record({
    uncached_input: fc.nat(200),
    cache_read: fc.nat(200),
    cache_write_5m: fc.nat(100),
    cache_write_1h: fc.nat(100),
    output: fc.nat(20),
  });
  const marks = fc.array(fc.record({ num_tokens: fc.nat(400), ttl: fc.constantFrom("5m", "1h") }));
  fc.assert(
    fc.property(counts, marks, fc.array(fc.nat(400)), fc.nat(30), (usage, set, cuts, numKept) => {
      const numRead = KINDS.reduce((sum, kind) => (kind === "output" ? sum : sum + usage[kind]), 0);
      const numPrompt = Math.max(0, numRead - numKept);
      const edges = [0, ...cuts.filter((cut) => cut < numPrompt).sort((a, b) => a - b), numPrompt];
      const segments = edges.slice(1).map((end, index) => ({ start: edges[index]!, end }) as Segment);
      const lines = KINDS.map((kind) => ({
        kind,
        num_tokens: usage[kind],
        unit_price_nano: UNITS[kind],
        amount_nano: usage[kind] * UNITS[kind],
      }));
      const view = {
        context: { segments, num_prompt_tokens: numPrompt },
        generation: { usage },
        cache: { marks: set },
        bill: { lines, currency: "USD" },
      } as unknown as TraceView;
      const found = pricesOf(view)!;
      const input = lines.filter(({ kind }) => kind !== "output");
      const billed = input.reduce((sum, { amount_nano }) => sum + amount_nano, 0);
      expect(found.segments.reduce((sum, each) => sum + each, found.rest)).toBe(billed);
      expect(runsOf(usage, set).at(-1)?.end ?? 0).toBe(numRead);
    }),
  );
});

it("has no price before the bill, and none without prices", () => {
  expect(pricesOf(foldAll([LOOKED_UP]))).toBeNull();
});

it("says how much was read again because text before it had gone", () => {
  const part = (start: number, end: number, source: string) => ({ kind: "history", start, end, source });
  const gone = { kind: "history", source: "m1", num_tokens: 30, reason: "the window is full", text: "" };
  const context = (dropped: object[]) => ({
    type: "context.assembled",
    at: 1,
    segments: [part(0, 20, "system"), part(20, 70, "m2"), part(70, 80, "m3")],
    dropped,
  });
  const compared = { type: "context.compared", at: 9, added: [2], changed: [], removed: [gone] };
  const words = (dropped: object[], removed: object[]) => {
    const told = { ...compared, removed } as unknown as AnyEvent;
    const view = foldAll([
      context(dropped) as unknown as AnyEvent,
      { ...LOOKED_UP, num_cached_tokens: 16 },
      told,
    ]);
    return cacheWords(view, view.compared);
  };
  expect(words([gone], [gone])).toMatch(/read 54 tokens again/);
  expect(words([gone], [])).toMatch(/turn before left out the same/);
  expect(words([], [])).toBe("");
});
