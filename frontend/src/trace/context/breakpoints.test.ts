import { expect, it } from "vitest";
import type { AnyEvent } from "../../protocol/events";
import { foldAll, LOOKED_UP } from "../fixtures";
import { breakpointsOf } from "./breakpoints";

const marks = [
  { num_tokens: 9, ttl: "1h" as const },
  { num_tokens: 40, ttl: "1h" as const },
  { num_tokens: 70, ttl: "5m" as const },
];
const stored: AnyEvent = {
  type: "cache.stored",
  generation: 0,
  at: 7000,
  num_blocks: 2,
  ttl: "5m",
  indices: [2, 3],
};

it("tells of each breakpoint what the cache did", () => {
  const view = foldAll([{ ...LOOKED_UP, marks, num_cached_tokens: 32 }, stored]);
  expect(breakpointsOf(view).map(({ state }) => state)).toEqual(["short", "found", "written"]);
  expect(breakpointsOf(view)[2]!.sentence).toBe(
    "After 70 tokens, for 5 minutes: 32 tokens since token 40 were written for later requests.",
  );
});

it("counts each token at one breakpoint alone, so that the sums are the prompt's", () => {
  const near = [16, 20, 64].map((num_tokens) => ({ num_tokens, ttl: "5m" as const }));
  const view = foldAll([
    { ...LOOKED_UP, marks: near.reverse(), num_cached_tokens: 48 },
    { ...stored, indices: [3] },
  ]);
  expect(breakpointsOf(view).map(({ sentence }) => sentence.split(": ")[1])).toEqual([
    "found. 16 tokens are read at the lower price.",
    "its part since token 16 is too short to keep. The cache keeps whole blocks of 16 tokens.",
    "32 tokens since token 20 were found, 16 tokens were written for later requests.",
  ]);
});

it("waits for what is not written yet", () => {
  const view = foldAll([{ ...LOOKED_UP, marks, num_cached_tokens: 0, hits: [] }]);
  expect(breakpointsOf(view).map(({ state }) => state)).toEqual(["short", "waiting", "waiting"]);
});

it("has none where the client set none", () => {
  expect(breakpointsOf(foldAll([LOOKED_UP]))).toEqual([]);
});

const BILL = {
  type: "bill.posted",
  at: 9000,
  currency: "USD",
  lines: [
    { kind: "uncached_input", num_tokens: 6, unit_price_nano: 100_000 },
    { kind: "cache_read", num_tokens: 32, unit_price_nano: 10_000 },
  ],
} as unknown as AnyEvent;
const PROMPT = {
  type: "prompt.tokenized",
  generation: 0,
  at: 1,
  ids: Array.from({ length: 80 }, (_, id) => id),
  pieces: [],
  special: [],
} as unknown as AnyEvent;

it("says what a found part saved, in money and in time of reading", () => {
  const view = foldAll([{ ...LOOKED_UP, marks, num_cached_tokens: 32, saved_us: 40_000 }, stored, BILL]);
  expect(breakpointsOf(view)[1]!.saved).toBe("Saved $0.00288 and about 40\u00a0ms of reading.");
  expect(breakpointsOf(view)[0]!.saved).toBe("");
});

it("says why a breakpoint missed", () => {
  const why = (absence: "expired" | "evicted", numCommon: number) => {
    const compared = {
      type: "context.compared",
      at: 8,
      num_prompt_tokens: 80,
      num_answer_tokens: 4,
      num_common_tokens: numCommon,
      here: [],
      there: [],
      added: [],
      changed: [],
      removed: [],
    } as unknown as AnyEvent;
    const looked = { ...LOOKED_UP, marks, num_cached_tokens: 32, absence };
    return breakpointsOf(foldAll([PROMPT, looked, stored, compared])).map((each) => each.why);
  };
  expect(why("expired", 60)).toEqual(["", "", "Token 61 differs from the turn before."]);
  expect(why("expired", 75)[2]).toBe("Its blocks were kept, and their time to live ran out.");
  expect(why("evicted", 75)[2]).toBe("Its blocks were kept, and made room for others.");
});
