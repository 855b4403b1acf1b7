/** Guessing the next word: the number of right guesses, and the model's chance of each, in bits. */
import type { TokenSampled } from "../../protocol/events";
import { counted } from "../format";
import { hasLogits } from "./probability";

export interface Guess {
  /** Index of the guessed candidate; null: it is not among those recorded. */
  index: number | null;
  /** -log2 of its chance; where it is not among the candidates, the least that it can be. */
  bits: number;
  isAtLeast: boolean;
}

/**
 * ids: tokens that the guess may begin with; the likeliest of them counts. Null: the chances are not reported.
 *
 * An unrecorded word has at most the chance that all recorded ones leave over.
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

/** Bits of the word that was drawn: a right guess has as many; null: not reported. */
export const modelBits = ({ logprob }: TokenSampled): number | null =>
  logprob === null ? null : -logprob / Math.LN2;

export interface Tally {
  num: number;
  /** Guesses that were the very word that was drawn. */
  numRight: number;
  /** Guesses of which both bits are known: the sums count these alone. */
  numKnown: number;
  yours: number;
  model: number;
}

export const NO_GUESSES: Tally = { num: 0, numRight: 0, numKnown: 0, yours: 0, model: 0 };

export function added(tally: Tally, guess: Guess, token: TokenSampled): Tally {
  const isRight = guess.index !== null && token.candidate_ids[guess.index] === token.id;
  const own = modelBits(token);
  const isKnown = !guess.isAtLeast && own !== null;
  return {
    num: tally.num + 1,
    numRight: tally.numRight + Number(isRight),
    numKnown: tally.numKnown + Number(isKnown),
    yours: tally.yours + (isKnown ? guess.bits : 0),
    model: tally.model + (isKnown ? own : 0),
  };
}

export const BITS_WORDS = "1 bit is a chance of 1 in 2, 2 bits are 1 in 4: an unlikely word has many bits.";

/** "2 of 3 right. Your words 3.1 bits each, the model’s 2.2." */
export function tallyText({ num, numRight, numKnown, yours, model }: Tally): string {
  if (!num) return "Guess each word before the model shows it.";
  const numUnknown = num - numKnown;
  const each = (bits: number) => (bits / numKnown).toFixed(1);
  const told = [
    numKnown ? `Your words ${each(yours)} bits each, the model’s ${each(model)}` : "",
    numUnknown
      ? `${numKnown ? "the" : "The"} bits of ${counted(numUnknown, "guess", "guesses")} are not known`
      : "",
  ];
  return `${numRight} of ${num} right. ${told.filter(Boolean).join("; ")}.`;
}
