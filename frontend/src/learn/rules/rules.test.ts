import fc from "fast-check";
import { expect, it } from "vitest";
import { charsPerToken, judged, RULES, sizesOf, timesOf, tokensPerWord } from "./rules";

it("counts characters as people do, and words by their spaces", () => {
  expect(sizesOf("  two\nwords ", 3)).toEqual({ numChars: 12, numWords: 2, numTokens: 3 });
  expect(sizesOf("🐱", 2).numChars).toBe(1);
  expect(sizesOf("", 0)).toEqual({ numChars: 0, numWords: 0, numTokens: 0 });
});

it("finds the rules true of a text that is made to their measure", () => {
  const sizes = { numChars: 5200, numWords: 1000, numTokens: 1300 };
  for (const rule of RULES) expect(judged(timesOf(rule, sizes))).toBe("holds");
  expect(charsPerToken(sizes)).toBe(4);
  expect(tokensPerWord(sizes)).toBe(1.3);
});

it("says of any text a figure that is finite, and in which direction it is off", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1e6 }), fc.integer({ min: 1, max: 1e5 }), (numTokens, numWords) => {
      const sizes = { numChars: numWords * 5, numWords, numTokens };
      for (const rule of RULES) {
        const times = timesOf(rule, sizes);
        expect(Number.isFinite(times)).toBe(true);
        expect(judged(times)).toMatch(/^(holds|\d+\.\d times (as much|less))$/);
      }
    }),
  );
  expect(judged(2)).toBe("2.0 times as much");
  expect(judged(0.5)).toBe("2.0 times less");
});
