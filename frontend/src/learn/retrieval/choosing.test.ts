import { expect, it } from "vitest";
import { MOST_CHARS, MOST_NOTES, notesIn, numChosen, problemOf, SETS } from "./choosing";

const ranked = [0.6, 0.4, 0.3, 0.1].map((similarity, index) => ({
  index,
  similarity,
  part: "",
  num_tokens: 40 + index,
}));

it("chooses from the threshold on, and never more than the number", () => {
  expect(numChosen(ranked, 0.3, 5)).toBe(3);
  expect(numChosen(ranked, 0.3, 2)).toBe(2);
  expect(numChosen(ranked, 0.9, 5)).toBe(0);
  expect(numChosen([], 0, 5)).toBe(0);
});

it("reads one note on a line, without empty ones", () => {
  expect(notesIn(" one \n\n\ntwo")).toEqual(["one", "two"]);
});

it("names what cannot be asked", () => {
  expect(problemOf(" ", ["a"])).toMatch(/question/);
  expect(problemOf("a", [])).toMatch(/at least one/);
  expect(problemOf("a", Array(MOST_NOTES + 1).fill("a"))).toMatch(/11 memories/);
  expect(problemOf("a", ["a", "a".repeat(MOST_CHARS + 1)])).toMatch(/Memory 2/);
  for (const { question, notes } of SETS) expect(problemOf(question, notes)).toBe("");
});
