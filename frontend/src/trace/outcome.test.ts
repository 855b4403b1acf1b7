import { expect, it } from "vitest";
import type { AnyEvent, ContextAssembled, RequestAccepted } from "../protocol/events";
import { ACCEPTED, ended, foldAll, PARAMS, RELEASED, token } from "./fixtures";
import { cutOf, cutSentence, numLeft } from "./outcome";
import { story } from "./sentences";
import { summaryOfTrace } from "./summary";

const context = (window: number): ContextAssembled => ({
  type: "context.assembled",
  at: 1,
  window,
  reserved_output: 2,
  num_prompt_tokens: 10,
  segments: [],
  dropped: [],
  duration_us: 1,
});

/** Of two tokens. */
const answer = (asked: number, window: number, reason: "length" | "stop" = "length"): AnyEvent[] => [
  { ...(ACCEPTED as RequestAccepted), params: { ...PARAMS, max_tokens: asked } },
  context(window),
  token(0, 100_000),
  token(1, 300_000),
  RELEASED,
  ...ended(reason),
];

it.each([
  [2, 99, "setting", "The answer was cut at the length limit, after 2 tokens."],
  [2000, 12, "window", "Stopped at 2 tokens: the window was full, 2,000 were asked for."],
  [2000, 99, "worker", "Stopped at 2 tokens: the worker had no room for more, 2,000 were asked for."],
])(
  "says why an answer of 2 tokens ended where %i were asked for in a window of %i",
  (asked, window, by, said) => {
    const view = foldAll(answer(asked, window));
    expect(cutOf(view)).toEqual({ given: 2, asked, by });
    expect(cutSentence(cutOf(view)!)).toBe(said);
    expect(story(view)).toBe(said);
    const phase = by === "setting" ? "cut at the length limit" : "cut: no room for more";
    expect(summaryOfTrace(view).phase).toBe(phase);
  },
);

it("says nothing of an answer that ended by itself, or of which too little is known", () => {
  expect(cutOf(foldAll(answer(2, 12, "stop")))).toBeNull();
  expect(cutOf(foldAll(answer(2, 12).filter(({ type }) => type !== "context.assembled")))).toBeNull();
});

it("knows before the answer ends that the window leaves fewer tokens than were asked for", () => {
  const begun = (asked: number) => foldAll(answer(asked, 99).slice(0, 3));
  expect([numLeft(begun(89)), numLeft(begun(90))]).toEqual([null, 89]);
  expect(numLeft(foldAll([ACCEPTED]))).toBeNull();
});
