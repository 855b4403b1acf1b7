import { expect, it } from "vitest";
import { parseGrid, planText } from "./plan";

it("reads lists of values, and says which field is wrong", () => {
  expect(parseGrid({ temperature: "0, 0.5,1", top_k: " 5 " })).toEqual({
    grid: { temperature: [0, 0.5, 1], top_k: [5] },
    numCells: 3,
    problem: "",
    field: null,
  });
  expect(parseGrid({}).numCells).toBe(1);
  expect(parseGrid({ top_p: "0.5, high" })).toMatchObject({
    field: "top_p",
    problem: "Top-p: “high” is not a number.",
  });
  expect(parseGrid({ top_p: "0.5 0.50" })).toMatchObject({ field: "top_p", numCells: 0 });
});

it("tells a plan in words", () => {
  expect(planText({ n: 1, seeds: "same", grid: {} })).toBe("as it was");
  expect(planText({ n: 8, seeds: "fresh", grid: {} })).toBe("8 times, with fresh seeds");
  expect(planText({ n: 2, seeds: "same", grid: { temperature: [0, 1], top_k: [5] } })).toBe(
    "over temperature 0, 1 × top-k 5, 2 times each, with its own seed",
  );
});
