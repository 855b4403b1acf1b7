/** The times from each token of an answer to the next, as webapp.requests.outcome counts them. */
import { tookUntil, type TraceView } from "../view";

export interface TokenGaps {
  /** The time per output token: the answer's time after its first token, over its other tokens. */
  mean: number;
  median: number;
  p95: number;
  worst: number;
}

const gapsOf = (times: number[]) => times.slice(1).map((time, index) => time - times[index]!);

/** In µs, without a person's time to choose tokens. Null: there are fewer than two tokens. */
export function tokenGaps(view: TraceView): TokenGaps | null {
  const gaps = view.generations.flatMap(({ tokens }) => gapsOf(tokens.map(({ at }) => tookUntil(view, at))));
  gaps.sort((a, b) => a - b);
  if (!gaps.length) return null;
  const at = (index: number) => gaps[Math.max(0, index)]!;
  const middle = (gaps.length - 1) / 2;
  return {
    mean: gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length,
    median: (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2,
    p95: at(Math.ceil(0.95 * gaps.length) - 1),
    worst: at(gaps.length - 1),
  };
}
