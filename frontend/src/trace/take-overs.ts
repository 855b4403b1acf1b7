/** The pauses in which an answer had no worker: from its last token to the next one, which another attempt drew. */
import type { Generation } from "./generations";

export interface TakeOver {
  label: string;
  /** The last token, or the last word of a worker that had drawn none; µs since acceptance. */
  start: number;
  /** The next token; null: there is none yet. */
  end: number | null;
  /** Position of that token in its generation. */
  position: number | null;
}

export const TAKEN_OVER = { lost: "Worker lost, taken over", stopped: "Worker stopped, taken over" };

/** True from the end of a worker to the next token. */
export const isTakenOver = (generation: Generation): boolean => takeOvers(generation).at(-1)?.end === null;

/** In order. Workers that ended one after the other without a token between them make one pause. */
export function takeOvers({ interruptions, tokens }: Generation): TakeOver[] {
  const found: TakeOver[] = [];
  for (const { at, silent_us, cause } of interruptions) {
    const [before, next] = [
      tokens.findLast((token) => token.at <= at),
      tokens.find((token) => token.at > at),
    ];
    const [end, position] = [next?.at ?? null, next?.position ?? null];
    if (!found.length || found.at(-1)!.end !== end)
      found.push({ label: TAKEN_OVER[cause], start: before?.at ?? at - silent_us, end, position });
  }
  return found;
}
