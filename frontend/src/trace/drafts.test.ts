import { expect, it } from "vitest";
import type { AnyEvent } from "../protocol/events";
import { isAccepted } from "./drafts";
import { foldAll } from "./fixtures";

const DRAFT: AnyEvent = {
  type: "draft.verified",
  generation: 0,
  at: 1,
  position: 3,
  ids: [10, 11, 12, 13],
  pieces: ["a", "b", "c", "d"].map(btoa),
  num_accepted: 2,
  source: "ngram",
};

it("tells accepted, rejected and unread guesses by the token they were about", () => {
  const { drafts } = foldAll([DRAFT]);
  const outcomes = [3, 4, 5, 6].map((position) => drafts.guesses.get(position)?.[0]?.outcome);
  expect(outcomes).toEqual(["accepted", "accepted", "rejected", "unread"]);
  expect([2, 3, 4, 5, 6].map((position) => isAccepted(drafts, position))).toEqual([
    false,
    true,
    true,
    false,
    false,
  ]);
});

it("counts the token drawn after the accepted guesses into their pass", () => {
  const { passes } = foldAll([DRAFT]).drafts;
  expect([...passes.keys()]).toEqual([3, 4, 5]);
  expect(passes.get(5)).toEqual({ first: 3, size: 3, numGuesses: 4 });
});

it("keeps an unread guess beside the next pass's guess of the same token", () => {
  const { drafts } = foldAll([
    DRAFT,
    { ...DRAFT, position: 6, ids: [13], pieces: [btoa("d")], num_accepted: 1 },
  ]);
  expect(drafts.guesses.get(6)?.map((guess) => guess.outcome)).toEqual(["unread", "accepted"]);
});
