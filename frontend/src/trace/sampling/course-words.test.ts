import fc from "fast-check";
import { expect, it } from "vitest";
import { courseInParts, retold, tailOf } from "./course-words";
import { ACCEPTED, foldAll, PARAMS, token } from "../fixtures";
import { course } from "./whatif";

const answer = (draws: number[]) => draws.map((u, position) => ({ ...token(position, position), u }));

it("ends as when it is reckoned at once, however long the answer is and wherever it parts", () => {
  const draws = fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { maxLength: 50 });
  fc.assert(
    fc.property(draws, fc.constantFrom(0.2, 0.5, 1, 1.6), (values, temperature) => {
      const tokens = answer(values);
      const wanted = { ...PARAMS, temperature };
      const parts = courseInParts(tokens, PARAMS, wanted, [], []);
      let step = parts.next();
      while (!step.done) step = parts.next();
      expect(step.value).toEqual(course(tokens, PARAMS, wanted, []));
    }),
  );
});

it("says what is the same and the word that would have come", () => {
  const whole = foldAll([ACCEPTED, ...answer([0.3, 0.3, 0.3])]);
  const next = { kind: "drawn", id: 11, piece: btoa(" where") } as const;
  expect(retold(whole, { numSame: 2, next }, () => "")).toEqual({ same: "a a", other: " where" });
  const ending = { kind: "drawn", id: 2, piece: "" } as const;
  expect(retold(whole, { numSame: 0, next: ending }, () => "end of turn").other).toBe("end of turn");
  const hidden = { kind: "unknown", reason: "Because." } as const;
  expect(retold(whole, { numSame: 1, next: hidden }, () => "").other).toBe("");
});

it("cuts a long text at a word's beginning, and never by more than it may", () => {
  expect(tailOf("one two three", 20)).toBe("one two three");
  expect(tailOf("one two three", 8)).toBe("…three");
  fc.assert(
    fc.property(fc.string(), fc.integer({ min: 1, max: 40 }), (text, length) => {
      expect(tailOf(text, length).length).toBeLessThanOrEqual(length + 1);
    }),
  );
});
