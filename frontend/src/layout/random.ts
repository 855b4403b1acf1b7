/** Seeded inputs for property tests: spans of all awkward kinds. */
import { STAGES } from "../trace/stages";
import type { Span } from "../trace/timing/spans";

/** Mulberry32: small, and the same everywhere. */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function span(start: number, end: number, rest: Partial<Span> = {}): Span {
  return {
    stage: "sampling",
    title: "a",
    event: null,
    isMark: false,
    isOpen: false,
    start,
    end,
    ...rest,
  };
}

/** Instant, equal, nested, overlapping, far apart and before zero. */
export function randomSpans(next: () => number, most = 300): Span[] {
  let at = -50_000;
  return Array.from({ length: Math.floor(next() * most) }, (_, index) => {
    at += [0, next() * 100, next() * 10_000, next() * 500_000][Math.floor(next() * 4)]!;
    const length = [0, next() * 10, next() * 5000, next() * 200_000][Math.floor(next() * 4)]!;
    const { id } = STAGES[Math.floor(next() * STAGES.length)]!;
    return span(at, at + length, { stage: id, title: `span ${index}` });
  });
}
