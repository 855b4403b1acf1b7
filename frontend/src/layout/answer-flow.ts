/** Answers as bands: a common stretch is one band, which parts where the answers part. Places from 0 to 1. */
import type { RunAnswer } from "../trace/compare/runs";

/** A stretch of tokens that all of its answers share, and no more than they. */
export interface Band {
  /** Its place in the list of bands; a parent stands before its children. */
  key: number;
  parent: number | null;
  /** Tokens. */
  start: number;
  end: number;
  /** Rows: one for each answer. */
  top: number;
  rows: number;
  answers: RunAnswer[];
  /** The pieces of its stretch. */
  pieces: string[];
  /** Number of answers that end with it. */
  numEnding: number;
}

export interface Flow {
  bands: Band[];
  numRows: number;
  /** Positions at which answers part or end: the axis is drawn from one of these to the next. */
  stops: number[];
}

export function answerFlow(answers: RunAnswer[]): Flow {
  const bands: Band[] = [];
  grow(bands, answers, 0, 0, null);
  const stops = [...new Set([0, ...bands.map(({ end }) => end)])].sort((a, b) => a - b);
  return { bands, numRows: answers.length, stops };
}

/** Adds the band of answers that are equal up to `start` and have the same token there, and those that follow it. */
function grow(bands: Band[], answers: RunAnswer[], start: number, top: number, parent: number | null): void {
  if (!answers.length) return;
  const first = answers[0]!;
  let end = start;
  while (end < first.ids.length && answers.every(({ ids }) => ids[end] === first.ids[end])) end++;
  const ending = answers.filter(({ ids }) => ids.length === end);
  const key = bands.length;
  const isRootless = parent === null && end === 0;
  if (!isRootless)
    bands.push({
      key,
      parent,
      start,
      end,
      top,
      rows: answers.length,
      answers,
      pieces: first.pieces.slice(start, end),
      numEnding: ending.length,
    });
  const next = new Map<number, RunAnswer[]>();
  for (const answer of answers)
    if (answer.ids.length > end) {
      const id = answer.ids[end]!;
      next.set(id, [...(next.get(id) ?? []), answer]);
    }
  // The most frequent stands on top; answers that end here stand below those that go on.
  let at = top;
  for (const branch of [...next.values()].sort((a, b) => b.length - a.length)) {
    grow(bands, branch, end, at, isRootless ? null : key);
    at += branch.length;
  }
}

/** Token to place: each stretch between two stops takes the root of its length, so that early partings can be seen. */
export function flowAxis(stops: number[]): (token: number) => number {
  const weights = stops.slice(1).map((stop, index) => Math.sqrt(stop - stops[index]!));
  const total = weights.reduce((sum, weight) => sum + weight, 0) || 1;
  return (token) => {
    let place = 0;
    for (let index = 0; index < weights.length; index++) {
      const [from, to] = [stops[index]!, stops[index + 1]!];
      if (token <= from) break;
      place += (weights[index]! * (Math.min(token, to) - from)) / (to - from);
    }
    return place / total;
  };
}
