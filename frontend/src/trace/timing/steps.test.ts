import { expect, it } from "vitest";
import type { AnyEvent, BatchComposed } from "../../protocol/events";
import { foldAll, token } from "../fixtures";
import { batchCost, median, numOthers, stepsOf } from "./steps";

const chunk = (at: number, start: number, end: number): AnyEvent => ({
  type: "prefill.advanced",
  generation: 0,
  at,
  start,
  end,
  total: 40,
  step_us: 10_000,
  num_sequences: 1,
});
const batch = (
  at: number,
  num_decoding: number | null,
  num_prefilling: number | null = 0,
): BatchComposed => ({
  type: "batch.composed",
  generation: 0,
  at,
  num_decoding,
  num_prefilling,
  num_waiting: 0,
});
const sampled = (position: number, at: number, step_us = 10_000) => ({ ...token(position, at), step_us });

it("counts a pass as one step, and a prompt's last chunk and its token as one", () => {
  const draft = {
    type: "draft.verified",
    generation: 0,
    at: 39_000,
    position: 1,
    ids: [10, 12, 13],
    pieces: [],
    num_accepted: 1,
    source: "ngram",
  };
  const events = [
    chunk(10_000, 0, 30),
    chunk(20_000, 30, 40),
    sampled(0, 20_100),
    draft as AnyEvent,
    sampled(1, 40_000),
    sampled(2, 40_010),
    sampled(3, 50_000),
  ];
  const steps = stepsOf(foldAll(events));
  expect(steps.map(({ kind, numOwn, numGiven }) => [kind, numOwn, numGiven])).toEqual([
    ["prefill", 30, 0],
    ["prefill", 10, 1],
    ["decode", 4, 2],
    ["decode", 1, 1],
  ]);
});

it("gives each step the batch that was recorded last before it", () => {
  const events = [
    batch(1, 2),
    chunk(10_000, 0, 40),
    sampled(0, 10_100),
    batch(15_000, 0, 1),
    sampled(1, 20_000),
    sampled(2, 30_000),
  ];
  expect(stepsOf(foldAll(events)).map((step) => step.batch?.num_prefilling)).toEqual([0, 1, 1]);
  expect(stepsOf(foldAll(events)).map(numOthers)).toEqual([2, 1, 1]);
});

it("tells of a trace without it only what the steps themselves say", () => {
  const steps = stepsOf(
    foldAll([
      chunk(10_000, 0, 40),
      sampled(0, 10_100),
      { ...sampled(1, 20_000), batch_size: 3 },
      { ...sampled(2, 30_000), batch_size: null },
    ]),
  );
  expect(steps.map(({ batch }) => batch)).toEqual([null, null, null]);
  expect(steps.map(numOthers)).toEqual([0, 2, null]);
});

it("knows the cost of a batch only where the request was alone too", () => {
  const alone = [
    batch(1, 0),
    chunk(10_000, 0, 40),
    sampled(0, 10_100),
    sampled(1, 20_000, 8000),
    sampled(2, 30_000, 10_000),
  ];
  expect(batchCost(stepsOf(foldAll(alone)))).toMatchObject({
    numAlone: 3,
    numBatched: 0,
    alone: 9000,
    extra: null,
  });
  const both = [...alone, batch(31_000, 1), sampled(3, 45_000, 14_000), sampled(4, 60_000, 15_000)];
  expect(batchCost(stepsOf(foldAll(both)))).toMatchObject({
    numBatched: 2,
    batched: 14_500,
    extra: 11_000,
  });
});

it("has the middle of values as their median, and none of none", () => {
  expect([median([]), median([3]), median([4, 1, 3]), median([4, 1, 3, 2])]).toEqual([null, 3, 3, 2.5]);
});
