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
    "After 70 tokens, for 5 minutes: 32 tokens were found, 32 tokens were written for later requests.",
  );
});

it("waits for what is not written yet", () => {
  const view = foldAll([{ ...LOOKED_UP, marks, num_cached_tokens: 0, hits: [] }]);
  expect(breakpointsOf(view).map(({ state }) => state)).toEqual(["short", "waiting", "waiting"]);
});

it("has none where the client set none", () => {
  expect(breakpointsOf(foldAll([LOOKED_UP]))).toEqual([]);
});
