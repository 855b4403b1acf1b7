import { expect, it } from "vitest";
import type { AnyEvent } from "../../protocol/events";
import { foldAll, token } from "../fixtures";
import { speculationOf } from "./speculation";

const draft = (position: number, numGuessed: number, num_accepted: number): AnyEvent => ({
  type: "draft.verified",
  generation: 0,
  at: 1,
  position,
  ids: Array.from({ length: numGuessed }, (_, index) => index),
  pieces: [],
  num_accepted,
  source: "ngram",
});
const sampled = (position: number, at: number, step_us: number) => ({ ...token(position, at), step_us });

it("counts what became of every guess, and compares passes with plain steps", () => {
  const events = [
    sampled(0, 10_000, 8000),
    draft(1, 4, 2),
    ...[1, 2, 3].map((position) => sampled(position, 22_000, 12_000)),
    draft(4, 1, 0),
    sampled(4, 35_000, 9000),
    sampled(5, 45_000, 10_000),
  ];
  const found = speculationOf(foldAll(events));
  expect(found).toMatchObject({ numGuessed: 5, numAccepted: 2, numRejected: 2, numUnread: 1, plainUs: 9000 });
  expect(found.savedUs).toBe(3 * 9000 - 12_000 + (9000 - 9000));
});

it("does not know what was saved where no step was plain, or nothing was guessed", () => {
  expect(speculationOf(foldAll([draft(0, 1, 1), sampled(0, 9, 9), sampled(1, 9, 9)])).savedUs).toBeNull();
  expect(speculationOf(foldAll([sampled(0, 9, 9)]))).toMatchObject({ numGuessed: 0, savedUs: null });
});
