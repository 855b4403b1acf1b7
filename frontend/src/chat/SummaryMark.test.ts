// @vitest-environment jsdom
import { afterEach, expect, it } from "vitest";
import { mount, unmount } from "svelte";
import type { Summary } from "../protocol/api";
import SummaryMark from "./SummaryMark.svelte";

const MADE: Summary = {
  id: "sum_a",
  state: "done",
  request_id: "req_a",
  up_to_id: "msg_a",
  text: "They spoke of the sea.",
  num_turns: 2,
  num_tokens_before: 1786,
  num_tokens: 76,
  cost_nano: 43_400,
  currency: "USD",
  finish_reason: "stop",
  problem: null,
  created_at: "2026-01-01T00:00:00Z",
};
let mark: object;
afterEach(() => void unmount(mark));

function shown(summary: Partial<Summary>) {
  const props = { summary: { ...MADE, ...summary }, isInForce: true, onUndo: () => Promise.resolve() };
  mark = mount(SummaryMark, { target: document.body, props });
  return document.querySelector("p")!.textContent.replace(/\s+/g, " ");
}

it("says what a summary saved", () => {
  expect(shown({})).toContain("1,786 tokens became 76");
  expect(document.querySelector("b")).toBe(null);
});

it.each([
  ["repetition", "It repeated itself and was ended. Read it before you rely on it."],
  ["length", "It was cut at its longest length. Read it before you rely on it."],
] as const)("says that a summary ended by %s", (finish_reason, words) => {
  expect(shown({ finish_reason })).toContain(words);
});

it("says of a failed summary only why it failed", () => {
  const words = shown({ state: "failed", finish_reason: "length", problem: "It was stopped." });
  expect(words).toContain("The summary was not made: It was stopped.");
  expect(words).not.toContain("longest length");
});
