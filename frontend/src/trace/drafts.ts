/** Guesses that a model's pass checked: which token each was about, and which tokens one pass gave. */
import type { DraftVerified } from "../protocol/events";

export interface Guess {
  id: number;
  piece: string;
  source: DraftVerified["source"];
  /** Unread: an earlier guess of its pass was rejected, so the model's own choice was never compared with it. */
  outcome: "accepted" | "rejected" | "unread";
}

/** The generated tokens of one pass: the accepted guesses and the one that the model drew after them. */
export interface Pass {
  first: number;
  size: number;
  /** Guesses that were computed beside the token before them, accepted or not. */
  numGuesses: number;
}

export interface Drafts {
  /** Guesses by the position of the guessed token; several, when another followed an unread one. */
  guesses: Map<number, Guess[]>;
  passes: Map<number, Pass>;
}

/** Enters one more check, in place. */
export function enter({ guesses, passes }: Drafts, event: DraftVerified): void {
  const { ids, pieces, num_accepted, position, source } = event;
  ids.forEach((id, index) => {
    const outcome = index < num_accepted ? "accepted" : index === num_accepted ? "rejected" : "unread";
    const at = position + index;
    guesses.set(at, [...(guesses.get(at) ?? []), { id, piece: pieces[index] ?? "", source, outcome }]);
  });
  const pass = { first: position, size: num_accepted + 1, numGuesses: ids.length };
  for (let index = 0; index < pass.size; index++) passes.set(position + index, pass);
}

export const isAccepted = (drafts: Drafts, position: number): boolean =>
  drafts.guesses.get(position)?.some((guess) => guess.outcome === "accepted") ?? false;
