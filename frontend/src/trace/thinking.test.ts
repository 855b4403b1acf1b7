import { expect, it } from "vitest";
import type { AnyEvent } from "../protocol/events";
import { ACCEPTED, foldAll, token } from "./fixtures";
import { isAnswerAsked, savedThought, thoughtOf } from "./thinking";
import { answerPieces, answerText } from "./view";

const released = (text: string, num_tokens: number): AnyEvent => ({
  type: "thinking.released",
  generation: 0,
  at: 4000,
  text,
  num_tokens,
});
const ENDED: AnyEvent = {
  type: "thinking.ended",
  generation: 0,
  at: 9000,
  num_tokens: 3,
  duration_us: 2000,
  cause: "answer_now",
};
const ASKED: AnyEvent = { type: "thinking.answer_asked", generation: 0, at: 8000 };
const SAID: AnyEvent = { type: "text.released", generation: 0, at: 9500, text: "Yes.", num_tokens: 4 };
const tokens = [0, 1, 2, 3].map((position) => token(position, 1));

it("tells the thinking while it goes on", () => {
  const view = foldAll([ACCEPTED, ...tokens.slice(0, 2), released("Well", 1), released(", then", 2)]);
  expect(thoughtOf(view)).toMatchObject({ text: "Well, then", numTokens: 2, cause: null, isOpen: true });
  expect(isAnswerAsked(view)).toBe(false);
});

it("keeps the thinking apart from the answer, in text and tokens", () => {
  const view = foldAll([ACCEPTED, ...tokens, released("Well", 3), ASKED, ENDED, SAID]);
  expect(thoughtOf(view)).toEqual({
    text: "Well",
    numTokens: 3,
    durationUs: 2000,
    cause: "answer_now",
    isOpen: false,
  });
  expect([answerText(view), answerPieces(view).map(({ position }) => position)]).toEqual(["Yes.", [3]]);
});

it("knows that the answer was asked for until the thinking has ended", () => {
  const events = [ACCEPTED, ...tokens, released("Well", 3), ASKED];
  expect([isAnswerAsked(foldAll(events)), isAnswerAsked(foldAll([...events, ENDED]))]).toEqual([true, false]);
});

it("finds none where there was none, and reads what is saved", () => {
  expect([thoughtOf(foldAll([ACCEPTED, ...tokens, SAID])), savedThought(null)]).toEqual([null, null]);
  const saved = { text: "Well", num_tokens: 3, duration_us: 5, cause: "budget" as const };
  expect(savedThought(saved)).toMatchObject({ numTokens: 3, durationUs: 5, cause: "budget", isOpen: false });
});
