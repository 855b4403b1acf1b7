/** Answers as bands: a common stretch is one band, which splits where the answers differ. Places run from 0 to 1. */
import type { RunAnswer } from "../trace/compare/runs";

/** A stretch of tokens that these answers share, and no others. */
export interface Band {
  /** Its index in the list of bands; a parent comes before its children. */
  key: number;
  parent: number | null;
  /** From token `start` to before token `end`. */
  start: number;
  end: number;
  /** Its first row and number of rows, one for each answer. */
  top: number;
  rows: number;
  answers: RunAnswer[];
  /** The pieces of its stretch. */
  pieces: string[];
  /** Number of answers that end at its end. */
  numEnding: number;
}

export interface Flow {
  bands: Band[];
  numRows: number;
  /** Positions at which answers part or end, in order from 0. The axis is drawn piece by piece between them. */
  stops: number[];
}

export function answerFlow(answers: RunAnswer[]): Flow {
  const bands: Band[] = [];
  grow(bands, answers, 0, 0, null);
  const stops = [...new Set([0, ...bands.map(({ end }) => end)])].sort((a, b) => a - b);
  return { bands, numRows: answers.length, stops };
}

/** Add the band of answers that are equal up to and including token `start`, then the bands that follow it. */
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
  // The most frequent continuation is on top. Answers that end here are below those that go on.
  let at = top;
  for (const branch of [...next.values()].sort((a, b) => b.length - a.length)) {
    grow(bands, branch, end, at, isRootless ? null : key);
    at += branch.length;
  }
}

/** Map a token to its place. A stretch between stops takes the root of its length, so that early splits are visible. */
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
