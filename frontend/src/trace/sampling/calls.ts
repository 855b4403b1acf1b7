/** The draws of an answer that are worth telling: the closest call, and the oddest word. */
import type { SamplingParams, TokenSampled } from "../../protocol/events";
import { pieceLabel } from "../bytes";
import { finalProbabilities } from "./probability";
import { surpriseOf } from "./surprise";
import { asWord, tokenName } from "../token-name";
import type { TraceView } from "../view";

export interface Candidate {
  /** As a word; with the marks of its spaces where only they tell the two candidates apart. */
  name: string;
  /** 0 to 1. */
  chance: number;
}

export interface Call {
  position: number;
  token: TokenSampled;
  /** The two likeliest, the likelier first. */
  first: Candidate;
  second: Candidate;
  /** True when the chances are those of the draw, after all settings; else they are the model's own. */
  isAfterSettings: boolean;
}

export interface Odd {
  position: number;
  name: string;
  chance: number;
  /** -log2 of its chance. */
  bits: number;
}

/**
 * The token at which the two likeliest were closest to each other: at its draw, or by the model alone where no draw had
 * two candidates; between two words, or else between parts of words, or signs. Null: no candidates are recorded.
 */
export function closestCall(view: TraceView): Call | null {
  const known = found.get(view.tokens);
  if (known?.num === view.tokens.length) return known.call;
  const call = searched(view);
  found.set(view.tokens, { num: view.tokens.length, call });
  return call;
}

/** Once for each list of tokens at its length, since a long answer takes tens of milliseconds. */
const found = new WeakMap<readonly TokenSampled[], { num: number; call: Call | null }>();

function searched(view: TraceView): Call | null {
  const params = view.accepted?.params;
  const drawn = params ? (token: TokenSampled) => finalChances(token, params) : () => [];
  for (const isAfterSettings of [true, false])
    for (const isMeant of [isWordStart, isWord, () => true]) {
      const closest = closestOf(view, isAfterSettings ? drawn : modelChances, isMeant);
      if (closest) return callOf(view, closest, isAfterSettings);
    }
  return null;
}

/** True for a piece with a leading space, which begins a word; no part of a word is then compared with another. */
const isWordStart = (piece: string | undefined): boolean => /^·[\p{L}\p{N}]/u.test(pieceLabel(piece ?? ""));
const isWord = (piece: string | undefined): boolean => /[\p{L}\p{N}]/u.test(pieceLabel(piece ?? ""));

interface Found {
  token: TokenSampled;
  /** The two likeliest, as indices among its candidates. */
  order: number[];
  chances: number[];
}

/** Each candidate's chance, 0 to 1; none: not known. */
type Chances = (token: TokenSampled) => number[];

const finalChances = (token: TokenSampled, params: SamplingParams): number[] =>
  (finalProbabilities(token, params) ?? []).map((chance) => chance ?? 0);

const modelChances: Chances = ({ candidate_logits, log_normalizer }) =>
  log_normalizer === null ? [] : candidate_logits.map((logit) => Math.exp(logit - log_normalizer));

function closestOf(
  view: TraceView,
  chancesOf: Chances,
  isMeant: (piece: string | undefined) => boolean,
): Found | null {
  let closest: Found | null = null;
  let least = Infinity;
  for (const token of view.tokens) {
    if (token.is_special) continue;
    const chances = chancesOf(token);
    const order = likeliest(chances);
    if (order.length < 2 || !order.every((index) => isMeant(token.candidate_pieces[index]))) continue;
    const gap = Math.log(chances[order[0]!]! / chances[order[1]!]!);
    if (gap < least) [closest, least] = [{ token, order, chances }, gap];
  }
  return closest;
}

/** The two likeliest that have any chance at all. */
function likeliest(chances: number[]): number[] {
  const order = chances.flatMap((chance, index) => (chance > 0 ? [index] : []));
  return order.sort((a, b) => chances[b]! - chances[a]!).slice(0, 2);
}

function callOf(view: TraceView, { token, order, chances }: Found, isAfterSettings: boolean): Call {
  const names = order.map((index) =>
    tokenName(view, token.candidate_ids[index]!, token.candidate_pieces[index] ?? "", token),
  );
  const isSameWord = asWord(names[0]!) === asWord(names[1]!);
  const [first, second] = order.map((index, rank) => ({
    name: isSameWord ? names[rank]! : asWord(names[rank]!),
    chance: chances[index]!,
  }));
  return { position: token.position, token, first: first!, second: second!, isAfterSettings };
}

/** The word that the model held least likely of all that were taken; null: their chances are not reported. */
export function oddestWord(view: TraceView): Odd | null {
  let found: TokenSampled | null = null;
  for (const token of view.tokens)
    if (token.logprob !== null && !token.is_special && token.logprob < (found?.logprob ?? Infinity))
      found = token;
  if (!found) return null;
  const logprob = found.logprob!;
  return {
    position: found.position,
    name: asWord(pieceLabel(found.piece)),
    chance: Math.exp(logprob),
    bits: surpriseOf(found)!,
  };
}
