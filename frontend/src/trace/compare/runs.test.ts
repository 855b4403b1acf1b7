import { expect, it } from "vitest";
import type { AnyEvent } from "../../protocol/events";
import { ACCEPTED, ended, foldAll, LOOKED_UP, token } from "../fixtures";
import { answerOf, cacheShareSentence, isWhole, leftOutSentence, type RunEnd } from "./runs";

type Answer = NonNullable<RunEnd["answer"]>;
const done: Answer = { ids: [1, 2], outcome: "done" };
const cut: Answer = { ids: [1], outcome: "stopped" };
const none: Answer = { ids: [], outcome: "stopped" };
const lost: Answer = { ids: [1], outcome: "failed" };

const run = (state: string, answer: Answer | null): RunEnd => ({ state, hasRequest: true, answer });
const neverAsked = (state: string): RunEnd => ({ state, hasRequest: false, answer: null });

it("counts an answer that came to an end, not one that was broken off", () => {
  const ends = ["done", "length", "withheld", "stopped", "failed", "running"] as const;
  expect(ends.filter((outcome) => isWhole({ ids: [1], outcome }))).toEqual(["done", "length", "withheld"]);
  expect(isWhole({ ids: [], outcome: "done" })).toBe(false);
});

it("says how many were stopped and how far they had come, also those that never began", () => {
  expect(leftOutSentence([run("done", done), run("running", null), neverAsked("waiting")])).toBe("");
  expect(leftOutSentence([run("done", done), run("stopped", cut)])).toBe(
    "1 run was stopped, 1 in the middle of an answer: the results below leave them out.",
  );
  const stopped = [run("stopped", cut), run("stopped", none), neverAsked("stopped")];
  expect(leftOutSentence([run("done", done), ...stopped, run("failed", lost)])).toBe(
    "3 runs were stopped, 1 in the middle of an answer and 2 before its first token; " +
      "1 run failed, 1 in the middle of an answer: the results below leave them out.",
  );
});

it("says that runs were blocked or withheld before there was an answer", () => {
  const blocked = run("blocked", { ids: [], outcome: "blocked" });
  expect(leftOutSentence([run("done", done), blocked])).toBe(
    "1 run was blocked, 1 before its first token: the results below leave them out.",
  );
  const withheld = run("withheld", { ids: [], outcome: "withheld" });
  expect(
    leftOutSentence([blocked, blocked, withheld, run("withheld", { ids: [1], outcome: "withheld" })]),
  ).toBe(
    "2 runs were blocked, 2 before its first token; 1 run was withheld, 1 before its first token: the results below leave them out.",
  );
});

it("says nothing of where a run ended whose answer is not read", () => {
  expect(leftOutSentence([run("stopped", null), run("stopped", none), run("failed", null)])).toBe(
    "2 runs were stopped, 1 before its first token and 1 not read; 1 run failed, 1 not read: the results below leave them out.",
  );
});

it("leaves out no run whose answer is among what follows", () => {
  expect(leftOutSentence([run("stopped", done)])).toBe("");
});

it("counts the kept answer of a fork among what it read", () => {
  const ids = Array.from({ length: 20 }, (_, id) => id);
  const prompt = { type: "prompt.tokenized", at: 1, ids, pieces: ids.map(() => "YQ=="), special: [] };
  const forked = {
    type: "generation.forked",
    at: 2,
    position: 20,
    ids,
    pieces: ids.map(() => "YQ=="),
    text: "",
  };
  const events = [ACCEPTED, prompt, forked, LOOKED_UP, token(20, 9000), ...ended("stop")] as AnyEvent[];
  const run = answerOf(foldAll(events), 0, "req_a");
  expect(cacheShareSentence([run])).toBe("32 of 40 prompt tokens came from the prefix cache.");
});
