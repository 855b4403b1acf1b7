import { expect, it } from "vitest";
import type { AnyEvent, ContextAssembled, RequestAccepted } from "../protocol/events";
import { ACCEPTED, ended, FIGURES, foldAll, PARAMS, RELEASED, token } from "./fixtures";
import type { Message } from "../protocol/api";
import { cutOf, cutSentence, endOfMessage, numLeft, outcomeOf } from "./outcome";
import { story } from "./words/sentences";
import { summaryOfTrace } from "./words/summary";

const context = (window: number): ContextAssembled => ({
  type: "context.assembled",
  generation: 0,
  at: 1,
  window,
  reserved_output: 2,
  num_prompt_tokens: 10,
  segments: [],
  dropped: [],
  summarised: [],
  duration_us: 1,
});

/** The events of an answer of two tokens. */
const answer = (
  asked: number,
  window: number,
  reason: "abort" | "length" | "stop" = "length",
): AnyEvent[] => [
  { ...(ACCEPTED as RequestAccepted), params: { ...PARAMS, max_tokens: asked } },
  context(window),
  token(0, 100_000),
  token(1, 300_000),
  RELEASED,
  ...ended(reason),
];

it.each([
  [2, 99, "setting", "The answer was cut at the length limit, after 2 tokens."],
  [2000, 12, "window", "The answer was cut after 2 tokens of 2,000: the window was full."],
  [2000, 99, "worker", "The answer was cut after 2 tokens of 2,000: the worker had no room for more."],
])(
  "says why an answer of 2 tokens ended where %i were asked for in a window of %i",
  (asked, window, by, said) => {
    const view = foldAll(answer(asked, window));
    expect(cutOf(view)).toEqual({ given: 2, asked, by });
    expect(cutSentence(cutOf(view)!)).toBe(said);
    expect(story(view)).toBe(said);
    const state = by === "setting" ? "cut at the length limit" : "cut: no room left";
    expect(summaryOfTrace(view).state).toBe(state);
  },
);

it("says nothing of an answer that ended by itself, or of which too little is known", () => {
  expect(cutOf(foldAll(answer(2, 12, "stop")))).toBeNull();
  expect(cutOf(foldAll(answer(2, 12).filter(({ type }) => type !== "context.assembled")))).toBeNull();
});

it("calls an answer stopped whose worker was told to end it, though no event tells of the stop", () => {
  expect(outcomeOf(foldAll(answer(20, 99, "abort")))).toBe("stopped");
});

it("knows before the answer ends that the window leaves fewer tokens than were asked for", () => {
  const begun = (asked: number) => foldAll(answer(asked, 99).slice(0, 3));
  expect([numLeft(begun(89)), numLeft(begun(90))]).toEqual([null, 89]);
  expect(numLeft(foldAll([ACCEPTED]))).toBeNull();
});

const saved = (more: object, figures: object = {}): Message =>
  ({
    status: "done",
    text: "A word",
    num_kept: null,
    ...more,
    figures: { ...FIGURES, ...figures },
  }) as unknown as Message;

it.each([
  ["repetition", saved({}, { finish_reason: "repetition" })],
  ["length", saved({}, { finish_reason: "length" })],
  ["withheld", saved({ status: "withheld" })],
  ["stopped", saved({ status: "stopped" })],
  ["blocked", saved({ status: "blocked" })],
  ["failed", saved({ status: "failed" })],
  ["done", saved({})],
  ["running", { ...saved({ status: "streaming" }), figures: null }],
] as const)("knows of a message alone that its answer is %s", (outcome, message) => {
  expect(endOfMessage(message).outcome).toBe(outcome);
});

it("knows of a message alone where its answer was cut, and not by what where it had no room", () => {
  const cut = (more: object, figures: object) =>
    endOfMessage(saved(more, { finish_reason: "length", ...figures })).cut;
  expect(cut({}, {})).toEqual({ given: 8, asked: 8, by: "setting" });
  expect(cut({ num_kept: 4 }, { max_tokens: 12 })).toEqual({ given: 12, asked: 12, by: "setting" });
  const noRoom = cut({ num_kept: 3 }, { max_tokens: 12 });
  expect(noRoom).toEqual({ given: 11, asked: 12, by: "room" });
  expect(cutSentence(noRoom!)).toBe("The answer was cut after 11 tokens of 12: there was no room for more.");
  expect(cut({}, { usage: null })).toBeNull();
  expect(cut({}, { finish_reason: "stop" })).toBeNull();
});

it("knows of a message alone whether any text was let out", () => {
  const isAll = (more: object, figures: object) =>
    endOfMessage(saved({ status: "withheld", ...more }, figures)).isAllWithheld;
  expect(isAll({}, {})).toBe(false);
  // The policy's own words stand in its text.
  expect(isAll({ text: "Withheld." }, { first_text_us: null })).toBe(true);
  // The text that a fork took over had been released before.
  expect(isAll({ num_kept: 2 }, { first_text_us: null })).toBe(false);
});
