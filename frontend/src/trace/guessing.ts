/** Guessing the next word against the model, in bits: what a guess costs by the model's own distribution. */
import type { TokenSampled } from "../protocol/events";
import { hasLogits } from "./probability";

export interface Guess {
  /** Of the candidate that was guessed; null: it is not among those recorded. */
  index: number | null;
  /** -log2 of its chance; where it is not among the candidates, the least that it can be. */
  bits: number;
  isAtLeast: boolean;
}

/**
 * ids: tokens that the guess may begin with; the likeliest of them counts. Null: the chances are not reported.
 *
 * A word that is not recorded has at most what all recorded ones leave over.
 */
export function scoreGuess(token: TokenSampled, ids: number[]): Guess | null {
  if (!hasLogits(token)) return null;
  const chances = token.candidate_logits.map((logit) => Math.exp(logit - token.log_normalizer!));
  const found = ids.map((id) => token.candidate_ids.indexOf(id)).filter((index) => index >= 0);
  const best = found.sort((a, b) => chances[b]! - chances[a]!)[0];
  if (best !== undefined) return { index: best, bits: bitsOf(chances[best]!), isAtLeast: false };
  const left = 1 - chances.reduce((sum, chance) => sum + chance, 0);
  return { index: null, bits: bitsOf(Math.min(1, Math.max(left, LEAST))), isAtLeast: true };
}

/** Below this a sum of chances is rounding. */
const LEAST = 1e-6;

const bitsOf = (chance: number) => Math.max(0, -Math.log2(chance));

/** What the model itself has to expect of its own draw; null: not reported. */
export const modelBits = ({ entropy }: TokenSampled): number | null =>
  entropy === null ? null : entropy / Math.LN2;

export interface Tally {
  num: number;
  yours: number;
  model: number;
  /** Guesses of which only the least cost is known. */
  numAtLeast: number;
  /** Guesses that were the very word that was drawn. */
  numRight: number;
}

export const NO_GUESSES: Tally = { num: 0, yours: 0, model: 0, numAtLeast: 0, numRight: 0 };

export function added(tally: Tally, guess: Guess, token: TokenSampled): Tally {
  const isRight = guess.index !== null && token.candidate_ids[guess.index] === token.id;
  return {
    num: tally.num + 1,
    yours: tally.yours + guess.bits,
    model: tally.model + (modelBits(token) ?? 0),
    numAtLeast: tally.numAtLeast + Number(guess.isAtLeast),
    numRight: tally.numRight + Number(isRight),
  };
}

/** "You 3.1, model 2.2 bits a word": fewer is better. */
export function tallyText({ num, yours, model, numAtLeast, numRight }: Tally): string {
  if (!num) return "Guess each word before the model shows it. Fewer bits are better.";
  const least = numAtLeast ? "at least " : "";
  const right = numRight ? `, ${numRight} of ${num} right` : `, none of ${num} right`;
  return `You ${least}${(yours / num).toFixed(1)}, model ${(model / num).toFixed(1)} bits a word${right}`;
}
