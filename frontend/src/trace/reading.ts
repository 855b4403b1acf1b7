/** What the model reads before it writes: the prompt, and of a fork the tokens of the answer that it goes on from. */
import type { TraceView } from "./view";

export interface Reading {
  ids: number[];
  pieces: string[];
  special: number[];
  /** Those from here on are the fork's. */
  numPrompt: number;
}

export function readingOf({ prompt, forked }: TraceView): Reading | null {
  if (!prompt) return null;
  const { ids, pieces, special } = prompt;
  if (!forked) return { ids, pieces, special, numPrompt: ids.length };
  return {
    ids: [...ids, ...forked.ids],
    pieces: [...pieces, ...forked.pieces],
    special,
    numPrompt: ids.length,
  };
}
