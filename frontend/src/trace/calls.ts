/** The draws of an answer that are worth telling: the closest call, and the oddest word. By the model alone. */
import type { TokenSampled } from "../protocol/events";
import { pieceLabel } from "./bytes";
import { tokenName } from "./token-name";
import type { TraceView } from "./view";

export interface Candidate {
  name: string;
  /** Before any setting, 0 to 1. */
  chance: number;
}

export interface Call {
  position: number;
  token: TokenSampled;
  /** The two likeliest, the likelier first. */
  first: Candidate;
  second: Candidate;
}

export interface Odd {
  position: number;
  name: string;
  chance: number;
  /** -log2 of its chance. */
  bits: number;
}

const BITS = 1 / Math.LN2;

/** Of a log-probability in nats. */
export const bitsOf = (logprob: number): number => -logprob * BITS;

/**
 * The token at which the two likeliest were closest to each other: between two words, or else between signs; null: no
 * candidates are recorded.
 */
export function closestCall(view: TraceView): Call | null {
  return closestOf(view, isWord) ?? closestOf(view, () => true);
}

const isWord = (piece: string | undefined): boolean => /[\p{L}\p{N}]/u.test(pieceLabel(piece ?? ""));

function closestOf(view: TraceView, isMeant: (piece: string | undefined) => boolean): Call | null {
  let found: { token: TokenSampled; order: number[]; gap: number } | null = null;
  for (const token of view.tokens) {
    const order = token.log_normalizer === null ? [] : likeliest(token);
    if (order.length < 2 || token.is_special) continue;
    if (!order.every((index) => isMeant(token.candidate_pieces[index]))) continue;
    const gap = token.candidate_logits[order[0]!]! - token.candidate_logits[order[1]!]!;
    if (!found || gap < found.gap) found = { token, order, gap };
  }
  if (!found) return null;
  const { token, order } = found;
  const [first, second] = order.map((index) => candidate(view, token, index));
  return { position: token.position, token, first: first!, second: second! };
}

/** Indices of the two candidates that the model held for the likeliest. */
function likeliest({ candidate_logits }: TokenSampled): number[] {
  const order = candidate_logits.map((_, index) => index);
  return order.sort((a, b) => candidate_logits[b]! - candidate_logits[a]!).slice(0, 2);
}

function candidate(view: TraceView, token: TokenSampled, index: number): Candidate {
  const name = tokenName(view, token.candidate_ids[index]!, token.candidate_pieces[index] ?? "", token);
  return { name, chance: Math.exp(token.candidate_logits[index]! - (token.log_normalizer ?? 0)) };
}

/** The word that was the least likely of all that were taken; null: their chances are not reported. */
export function oddestWord(view: TraceView): Odd | null {
  let found: TokenSampled | null = null;
  for (const token of view.tokens)
    if (token.logprob !== null && !token.is_special && token.logprob < (found?.logprob ?? Infinity))
      found = token;
  if (!found) return null;
  const logprob = found.logprob!;
  return {
    position: found.position,
    name: pieceLabel(found.piece),
    chance: Math.exp(logprob),
    bits: bitsOf(logprob),
  };
}
