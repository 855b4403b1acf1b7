import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countsAt, countsOf } from "./counts";

describe("the loop", () => {
  it("computes each token once with a cache, and the whole text at each step without", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 64 }), fc.integer({ min: 1, max: 16 }), (numPrompt, numSteps) => {
        const { cached, uncached } = countsOf(numPrompt, numSteps);
        expect(cached).toBe(numPrompt + numSteps - 1);
        expect(uncached).toBe(numSteps * numPrompt + (numSteps * (numSteps - 1)) / 2);
        expect(countsAt(numPrompt, 0)).toEqual({ cached: numPrompt, uncached: numPrompt });
      }),
    );
  });
});
