/** The memories of a request: what was recalled, and which check was theirs. */
import { expect, it } from "vitest";
import type { AnyEvent } from "../protocol/events";
import { foldAll } from "./fixtures";
import { caption, pictureWords } from "./journey/scene-words";
import { sceneAt } from "./journey/scenes";
import { spanName } from "./timing/span-words";
import { spans } from "./timing/spans";

const item = { id: "mem_a", text: "I like tea", similarity: 0.4, is_kept: false, is_blocked: false };
const RECALLED = {
  type: "memory.recalled",
  at: 5,
  items: [item],
  num_considered: 3,
  threshold: 0.3,
  duration_us: 900,
} as unknown as AnyEvent;
const check = (at: number, subject = "") =>
  ({
    subject,
    type: "safety.checked",
    at,
    layer: "tool_result",
    scores: [],
    verdict: "allow",
    start: 0,
    end: 10,
    duration_us: 4,
    classifier: "c",
    version: "1",
    policy: "p 1",
  }) as unknown as AnyEvent;
const CONTEXT = {
  type: "context.assembled",
  at: 20,
  window: 100,
  reserved_output: 10,
  num_prompt_tokens: 3,
  segments: [],
  duration_us: 1,
} as unknown as AnyEvent;

it("keeps the check of the memories apart from those of tools' results", () => {
  const view = foldAll([RECALLED, check(10, "memory"), CONTEXT, check(30)]);
  expect(view.recalled).toBe(RECALLED);
  expect(view.memoryChecks.map(({ at }) => at)).toEqual([10]);
  expect(view.outputChecks.map(({ at }) => at)).toEqual([30]);
});

it("marks the search in the lane of the context, and its check in that of safety", () => {
  const found = spans(foldAll([RECALLED, check(10, "memory"), CONTEXT, check(30)]));
  const mark = found.find(({ event }) => event === RECALLED)!;
  expect([mark.stage, spanName(mark)]).toEqual(["context", "searched 3 memories"]);
  const checks = found.filter(({ event }) => event?.type === "safety.checked");
  expect(checks.map(({ stage }) => stage)).toEqual(["safety", "release"]);
});

it("is a step of the journey that says how many memories join", () => {
  const view = foldAll([RECALLED]);
  expect(sceneAt(view)).toBe("context");
  expect(caption(view, "context")).toBe(
    "The site compared your message with 3 memories; 1 of them joins the prompt.",
  );
  expect(pictureWords(view, "context")).toContain("3 memories");
});
