import { expect, it } from "vitest";
import { isWhole, leftOutSentence } from "./runs";

type Answer = Parameters<typeof isWhole>[0];
const done: Answer = { ids: [1, 2], outcome: "done" };
const cut: Answer = { ids: [1], outcome: "stopped" };
const none: Answer = { ids: [], outcome: "stopped" };
const lost: Answer = { ids: [1], outcome: "failed" };

it("counts an answer only when the model came to its end", () => {
  const ends = ["done", "length", "withheld", "stopped", "failed", "running"] as const;
  expect(ends.filter((outcome) => isWhole({ ids: [1], outcome }))).toEqual(["done", "length", "withheld"]);
  expect(isWhole({ ids: [], outcome: "done" })).toBe(false);
});

it("says how many were stopped and how far they had come, also those that never began", () => {
  const runs = (...states: string[]) => states.map((state) => ({ state }));
  expect(leftOutSentence(runs("done", "running", "waiting"), [done])).toBe("");
  expect(leftOutSentence(runs("done", "stopped"), [done, cut])).toBe(
    "1 run was stopped, 1 in the middle of an answer: not among what follows.",
  );
  expect(
    leftOutSentence(runs("done", "stopped", "stopped", "stopped", "failed"), [done, cut, none, lost]),
  ).toBe(
    "3 runs were stopped, 1 in the middle of an answer and 2 before its first token; " +
      "1 run failed, 1 in the middle of an answer: not among what follows.",
  );
});
