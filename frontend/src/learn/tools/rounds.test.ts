import { describe, expect, it } from "vitest";
import type { AnyEvent, Frame } from "../../protocol/events";
import { readFileSync } from "node:fs";
import { RequestTrace } from "../../state/request/request-trace.svelte";
import { foldAll } from "../../trace/fixtures";
import { callsIn, definitionOf, idsIn, maskedIn, resumptionOf, writtenIn } from "./rounds";

const PATH = new URL("../../../../tests/golden/logs/two_generations.json", `file://${import.meta.dirname}/`)
  .pathname;
const { frames } = JSON.parse(readFileSync(PATH, "utf8")) as { frames: Frame[] };
const whole = RequestTrace.saved(frames).whole;
const [first, second] = whole.generations;

describe("a recorded request with a tool", () => {
  it("goes on with what it has read and written, and the result", () => {
    const found = resumptionOf(first!, second)!;
    expect(found.numPrompt).toBe(second!.prompt!.ids.length);
    expect(found.numKnown).toBe(first!.prompt!.ids.length + first!.tokens.length);
    expect(found.numCached).toBe(second!.cache?.num_cached_tokens ?? null);
    expect(found.pauseUs).toBeGreaterThanOrEqual(0);
    expect(resumptionOf(second!, undefined)).toBeNull();
  });

  it("has each call in the round that made it", () => {
    const calls = callsIn(whole, first!, idsIn(first!));
    expect(calls.map(({ call_id }) => call_id)).toEqual(first!.toolCalls.map(({ call_id }) => call_id));
    expect(writtenIn(first!)).toHaveLength(first!.tokens.length);
  });
});

it("reads the definition from the prompt's own tokens", () => {
  const ids = [1, 2, 3];
  const view = foldAll([
    {
      type: "context.assembled",
      at: 1,
      generation: 0,
      window: 64,
      segments: [
        { kind: "system", start: 0, end: 1, source: "", role: "system" },
        { kind: "tools", start: 1, end: 3, source: "", role: "system" },
      ],
      dropped: [],
      summarised: [],
    },
    {
      type: "prompt.tokenized",
      at: 2,
      generation: 0,
      ids,
      pieces: ["a", "<to", "ols>"].map(btoa),
      special: [],
    },
  ] as unknown as AnyEvent[]);
  expect(definitionOf(view)).toEqual({ text: "<tools>", numTokens: 2 });
  expect(definitionOf(foldAll([]))).toBeNull();
});

it("counts the places where the grammar left a single token", () => {
  const masked = [1, 1, 40].map((num_allowed, position) => ({
    type: "grammar.masked" as const,
    at: position,
    generation: 0,
    position,
    num_allowed,
    duration_us: 1,
  }));
  const { generations } = foldAll(masked);
  expect(maskedIn(generations[0]!)).toEqual({ numForced: 2, num: 3 });
});
