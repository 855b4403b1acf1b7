/**
 * The draw of other settings with the same u, from the recorded candidates alone (inference/sampling/).
 *
 * Only the first candidates are recorded, with four decimals. Two facts are known of the others: their joint weight at
 * the temperatures of the log, and that none weighs more than the last recorded one. At another temperature that leaves
 * a range. Everything is therefore computed in ranges, and a token counts as drawn only where each value in them draws
 * it.
 */
import type { ProcessorEffect, SamplingParams, TokenSampled } from "../../protocol/events";
import { dryPenalties, type DrySettings, type PieceOf } from "./dry";
import { isGreedy } from "./probability";

export type Settings = Pick<
  SamplingParams,
  | "temperature"
  | "top_k"
  | "top_p"
  | "min_p"
  | "repetition_penalty"
  | "frequency_penalty"
  | "presence_penalty"
> &
  /** Settings left out are the request's own. */
  Partial<DrySettings>;

/** The token that a draw repeated under other settings falls on, or the reason why it is not known. */
export type Redraw = { kind: "drawn"; id: number; piece: string } | { kind: "unknown"; reason: string };

export interface Course {
  /** Tokens from the first on that would have been the same. */
  numSame: number;
  /** The redraw of the next token; null: the answer's end. */
  next: Redraw | null;
}

export interface Range {
  low: number;
  high: number;
}

/** All weights are shares of that of the first recorded candidate, as it was drawn from. */
interface Weighed {
  /** Its logit. */
  unit: number;
  /** In candidate order; logits are those before DRY. */
  known: { id: number; piece: string; weight: number; logit: number }[];
  /** The joint weight of all others; each weighs at most `heaviest`. */
  others: Range;
  heaviest: number;
  /** Relative, of any sum of weights, from the rounding of the recorded logits. */
  error: number;
}

interface Survivors {
  /** Number of known candidates that survive. */
  num: Range;
  mass: Range;
  /** True when others may survive. */
  isOpen: boolean;
}

/** The engine's own limit (inference/protocol/request.py); a chosen token beyond stands after these. */
export const NUM_RECORDED = 20;
/** Anything colder is greedy, as in inference/sampling/sampler.py. */
const MIN_TEMPERATURE = 1e-3;
/** Two logits, each rounded by half of the fourth decimal, in two sums. */
const ROUNDING = 2e-4;

const CHANGES_LOGITS = ["logit_bias", "penalties"];
const PENALTIES = ["repetition_penalty", "frequency_penalty", "presence_penalty"] as const;
const NO_DRY: DrySettings = {
  dry_multiplier: 0,
  dry_base: 1.75,
  dry_allowed_length: 2,
  dry_penalty_last_n: -1,
  dry_sequence_breakers: [],
};
const unknown = (reason: string): Redraw => ({ kind: "unknown", reason });

/** The input before a token: the ids of prompt and answer so far, and the answer's bytes, which only DRY needs. */
interface Before {
  prompt: readonly number[];
  output: readonly number[];
  pieceOf: PieceOf;
}

/** The token that these settings draw in the place of a recorded one; prompt, output, pieceOf: see Before. */
export function redraw(
  token: TokenSampled,
  own: SamplingParams,
  wanted: Settings,
  prompt: readonly number[],
  output: readonly number[],
  pieceOf: PieceOf = () => undefined,
): Redraw {
  const { processors, log_normalizer } = token;
  if (processors === null || log_normalizer === null)
    return unknown("this server reports no logits and no draw");
  const problem = unfit(processors, own, wanted);
  if (problem) return unknown(problem);
  const isCold = wanted.temperature < MIN_TEMPERATURE;
  const ordered = weighAll(token, own, wanted, { prompt, output, pieceOf });
  if (typeof ordered === "string") return unknown(ordered);
  const first = ordered.known[0];
  if (!first)
    return unknown(`with the penalties, the best candidate may not be among the ${NUM_RECORDED} recorded`);
  if (isCold) return { kind: "drawn", id: first.id, piece: first.piece };
  if (isGreedy(token) || token.u === null)
    return unknown("the request was greedy: there is no draw to repeat");
  return drawFrom(ordered, cut(ordered, wanted), token.u);
}

/** A candidate's chance under these settings. */
export interface Chance {
  id: number;
  piece: string;
  low: number;
  high: number;
  /** Null: the recorded figures do not decide. */
  isCut: boolean | null;
}

export interface Spread {
  /** Chances of the recorded candidates, in these settings' order; a penalty may put some below the recorded range. */
  chances: Chance[];
  /** The joint chance of all others. */
  others: Range;
}

/** The distribution from which these settings draw; null where the log does not tell, as redraw says. */
export function spread(
  token: TokenSampled,
  own: SamplingParams,
  wanted: Settings,
  prompt: readonly number[] = [],
  output: readonly number[] = [],
  pieceOf: PieceOf = () => undefined,
): Spread | null {
  if (token.processors === null || token.log_normalizer === null || unfit(token.processors, own, wanted))
    return null;
  const isCold = wanted.temperature < MIN_TEMPERATURE;
  const weighed = weighAll(token, own, wanted, { prompt, output, pieceOf });
  if (typeof weighed === "string" || !weighed.known.length) return null;
  const { num, mass, isOpen } = cut(weighed, isCold ? { ...wanted, top_k: 1 } : wanted);
  const known = cumulative(weighed).at(-1)!;
  const chances = weighed.known.map(({ id, piece, weight }, index) => {
    if (index >= num.high) return { id, piece, low: 0, high: 0, isCut: true };
    const high = weight / mass.low;
    return index < num.low
      ? { id, piece, low: weight / mass.high, high, isCut: false }
      : { id, piece, low: 0, high, isCut: null };
  });
  const share = (all: number) => Math.max(0, 1 - known / all);
  return { chances, others: isOpen ? { low: share(mass.low), high: share(mass.high) } : { low: 0, high: 0 } };
}

/**
 * The draws up to the first token that would have differed, or for which that is not known; kept: ids before the first,
 * and their bytes.
 */
export function course(
  tokens: TokenSampled[],
  own: SamplingParams,
  wanted: Settings,
  prompt: readonly number[],
  kept: readonly number[] = [],
  keptPieces: readonly string[] = [],
): Course {
  const output = [...kept];
  const pieceOf = piecesOf(tokens, kept, keptPieces);
  const numSame = () => output.length - kept.length;
  for (const token of tokens) {
    if (token.position !== output.length)
      return { numSame: numSame(), next: unknown("the token after is not in the log") };
    const next = redraw(token, own, wanted, prompt, output, pieceOf);
    if (next.kind === "unknown" || next.id !== token.id) return { numSame: numSame(), next };
    output.push(token.id);
  }
  return { numSame: numSame(), next: null };
}

export function hasPenalties(params: Settings): boolean {
  return params.repetition_penalty !== 1 || params.frequency_penalty !== 0 || params.presence_penalty !== 0;
}

/** The bytes of an answer's tokens. */
export function piecesOf(
  tokens: TokenSampled[],
  kept: readonly number[] = [],
  keptPieces: readonly string[] = [],
): PieceOf {
  const pieces = new Map(kept.map((id, index) => [id, keptPieces[index]]));
  for (const { id, piece } of tokens) pieces.set(id, piece);
  return (id) => pieces.get(id);
}

/** The DRY settings; a log made before there was DRY has none. */
function dryOf(own: SamplingParams, wanted: Partial<DrySettings> = {}): DrySettings {
  const named = Object.keys(NO_DRY) as (keyof DrySettings)[];
  return Object.fromEntries(
    named.map((name) => [name, wanted[name] ?? own[name] ?? NO_DRY[name]]),
  ) as unknown as DrySettings;
}

function isSameDry(own: SamplingParams, wanted: Settings): boolean {
  if (!own.dry_multiplier && !wanted.dry_multiplier) return true;
  const [was, is] = [dryOf(own), dryOf(own, wanted)];
  return (!was.dry_multiplier && !is.dry_multiplier) || JSON.stringify(was) === JSON.stringify(is);
}

function isSamePenalties(own: SamplingParams, wanted: Settings): boolean {
  return PENALTIES.every((name) => own[name] === wanted[name]);
}

/** True when the processors that change logits are the request's own: then the candidates stand in their order. */
function isSameOrder(own: SamplingParams, wanted: Settings): boolean {
  return isSamePenalties(own, wanted) && isSameDry(own, wanted);
}

function unfit(processors: ProcessorEffect[], own: SamplingParams, wanted: Settings): string | null {
  if (own.typical_p < 1) return "the request used typical-p, which needs the entropy of all candidates";
  if (isSamePenalties(own, wanted)) return null;
  if (processors.some(({ name }) => CHANGES_LOGITS.includes(name)))
    return "the candidates were recorded in the order of the request's own penalties and biases";
  if (wanted.repetition_penalty < 1 || wanted.frequency_penalty < 0 || wanted.presence_penalty < 0)
    return "a penalty that raises logits may raise candidates that are not recorded";
  return null;
}

/** The candidates in these settings' order and weight, before any is cut; a text: the reason why it is not known. */
function weighAll(
  token: TokenSampled,
  own: SamplingParams,
  wanted: Settings,
  before: Before,
): Weighed | string {
  const weighed = weigh(token, own, wanted.temperature < MIN_TEMPERATURE ? 1 : wanted.temperature);
  return isSameOrder(own, wanted) ? weighed : penalised(weighed, own, wanted, before);
}

function weigh(token: TokenSampled, own: SamplingParams, temperature: number): Weighed {
  const processors = token.processors!;
  const numMasked = processors.reduce((sum, processor) => sum + processor.masked.length, 0);
  const count = Math.min(NUM_RECORDED, token.candidate_ids.length - numMasked);
  const changed = processors.findLast(({ logits }) => logits !== null)?.logits ?? token.candidate_logits;
  const logits = changed.slice(0, count) as number[];
  const before = processors.findLast(({ name }) => CHANGES_LOGITS.includes(name));
  const first = logits[0]!;
  const beta = 1 / temperature;
  const weights = logits.map((logit) => Math.exp(beta * (logit - first)));
  const processed = processors.findLast(({ name }) => isBeforeTemperature(name));
  const scaled = processors.find(({ name }) => name === "temperature");
  const numAll = (scaled ?? processed)?.num_candidates ?? Infinity;
  const anchors = [{ beta: 1, normalizer: processed?.log_normalizer ?? token.log_normalizer! }];
  if (scaled) anchors.push({ beta: 1 / own.temperature, normalizer: scaled.log_normalizer });
  const others =
    numAll <= count
      ? { low: 0, high: 0 }
      : anchors
          .map((anchor) => tailFrom(anchor, logits, numAll - count, beta))
          .reduce((a, b) => ({ low: Math.max(a.low, b.low), high: Math.min(a.high, b.high) }));
  return {
    unit: first,
    known: weights.map((weight, index) => ({
      id: token.candidate_ids[index]!,
      piece: token.candidate_pieces[index] ?? "",
      weight,
      logit: (before?.logits ?? token.candidate_logits)[index]!,
    })),
    others,
    heaviest: weights.at(-1)!,
    error: Math.expm1(beta * ROUNDING),
  };
}

function isBeforeTemperature(name: ProcessorEffect["name"]): boolean {
  return ["thinking", "grammar", "banned_tokens", "dry", ...CHANGES_LOGITS].includes(name);
}

/**
 * The others' joint weight at beta, from their joint weight at the anchor's: each weight is taken to the power
 * beta / anchor. None exceeds the last recorded one, and a sum of powers has its extreme where all are equal (Jensen).
 */
function tailFrom(
  anchor: { beta: number; normalizer: number },
  logits: number[],
  numOthers: number,
  beta: number,
): Range {
  const first = logits[0]!;
  const known = logits.reduce((sum, logit) => sum + Math.exp(anchor.beta * (logit - first)), 0);
  const all = Math.exp(anchor.normalizer - anchor.beta * first);
  const error = Math.expm1(anchor.beta * ROUNDING) * all;
  const sum = { low: Math.max(0, all - known - error), high: Math.max(0, all - known + error) };
  if (beta === anchor.beta) return sum;
  const power = beta / anchor.beta;
  const byLast = Math.exp((beta - anchor.beta) * (logits.at(-1)! - first));
  const byEqual = (value: number) => (value === 0 ? 0 : numOthers ** (1 - power) * value ** power);
  return power > 1
    ? { low: byEqual(sum.low), high: sum.high * byLast }
    : { low: sum.low * byLast, high: byEqual(sum.high) };
}

/**
 * Applies the wanted penalties and DRY to the logits before DRY. Candidates that fall below the last recorded one stand
 * among the others, whose order is not known. A text: the reason why it is not known.
 */
function penalised(
  weighed: Weighed,
  own: SamplingParams,
  wanted: Settings,
  before: Before,
): Weighed | string {
  const { prompt, output, pieceOf } = before;
  const [was, dry] = [dryOf(own), dryOf(own, wanted)].map((each) => dryPenalties(each, output, pieceOf));
  if (!was || !dry) return "the trace lacks the bytes of the answer's tokens, which the DRY breakers need";
  const listed = new Set(weighed.known.map(({ id }) => id));
  if ([...was.keys()].some((id) => !listed.has(id)))
    return `a token that DRY penalised is not among the ${NUM_RECORDED} recorded`;
  const beta = 1 / (wanted.temperature < MIN_TEMPERATURE ? 1 : wanted.temperature);
  const inPrompt = new Set(wanted.repetition_penalty === 1 ? [] : prompt);
  /** At most these others lose weight, and none more than it can have. */
  const isPenalised = isSamePenalties(own, wanted);
  const hit = isPenalised ? [...dry.keys()] : [...new Set([...inPrompt, ...output])];
  const numHit = hit.filter((id) => !listed.has(id)).length;
  const untouched = Math.max(0, weighed.others.low - numHit * weighed.heaviest);
  const all = weighed.known.map((candidate) => {
    const { id } = candidate;
    const times = output.filter((each) => each === id).length;
    const kept = isPenalised
      ? candidate.logit
      : penaltiesOn(candidate.logit, wanted, times, inPrompt.has(id));
    const logit = kept - (dry.get(id) ?? 0);
    return { ...candidate, weight: Math.exp(beta * (logit - weighed.unit)) };
  });
  const sunk = all.filter(({ weight }) => weight < weighed.heaviest);
  const sunkWeight = sunk.reduce((sum, { weight }) => sum + weight, 0);
  return {
    ...weighed,
    known: all.filter(({ weight }) => weight >= weighed.heaviest).sort((a, b) => b.weight - a.weight),
    others: { low: sunkWeight + untouched, high: sunkWeight + weighed.others.high },
  };
}

function penaltiesOn(logit: number, wanted: Settings, times: number, isInPrompt: boolean): number {
  const { repetition_penalty, frequency_penalty, presence_penalty } = wanted;
  const isHit = times > 0 || isInPrompt;
  const repeated = isHit ? (logit > 0 ? logit / repetition_penalty : logit * repetition_penalty) : logit;
  return repeated - frequency_penalty * times - (times ? presence_penalty : 0);
}

/** Prefix sums: [n] is the weight of the first n. */
function cumulative({ known }: Weighed): number[] {
  const sums = [0];
  for (const { weight } of known) sums.push(sums.at(-1)! + weight);
  return sums;
}

/** The processors in their order, as in inference/sampling/candidates.py. */
function cut(weighed: Weighed, { top_k, top_p, min_p }: Settings): Survivors {
  const sums = cumulative(weighed);
  const count = weighed.known.length;
  const total = sums[count]!;
  let survivors: Survivors = {
    num: { low: count, high: count },
    mass: { low: total + weighed.others.low, high: total + weighed.others.high },
    isOpen: weighed.others.high > 0,
  };
  if (top_k > 0) survivors = cutTopK(survivors, weighed, sums, top_k);
  if (top_p < 1) survivors = cutTopP(survivors, weighed, sums, top_p);
  if (min_p > 0) survivors = cutMinP(survivors, weighed, sums, min_p);
  return survivors;
}

function cutTopK(survivors: Survivors, { known, heaviest }: Weighed, sums: number[], k: number): Survivors {
  const more = k - known.length;
  if (more <= 0) return closed(sums, k, k);
  if (!survivors.isOpen) return survivors;
  const total = sums.at(-1)!;
  return { ...survivors, mass: { low: total, high: Math.min(survivors.mass.high, total + more * heaviest) } };
}

function cutTopP(survivors: Survivors, { heaviest, error }: Weighed, sums: number[], p: number): Survivors {
  const reach = (target: number, scale: number) => sums.findIndex((sum, n) => n > 0 && sum * scale >= target);
  const least = reach(p * survivors.mass.low, 1 + error);
  const most = reach(p * survivors.mass.high, 1 - error);
  const low = least < 0 ? survivors.num.low : Math.min(survivors.num.low, least);
  // A closed set of survivors reaches its last one at the latest.
  if (most >= 0 || !survivors.isOpen)
    return closed(sums, low, most < 0 ? survivors.num.high : Math.min(survivors.num.high, most));
  return {
    num: { low, high: survivors.num.high },
    mass: {
      low: least < 0 ? Math.max(sums[low]!, p * survivors.mass.low) : sums[low]!,
      high: Math.min(survivors.mass.high, p * survivors.mass.high + heaviest),
    },
    isOpen: true,
  };
}

function cutMinP(
  survivors: Survivors,
  { known, heaviest, error }: Weighed,
  sums: number[],
  share: number,
): Survivors {
  const bound = share * known[0]!.weight;
  const numAbove = (scale: number) => known.filter(({ weight }) => weight * scale >= bound).length;
  const low = Math.min(survivors.num.low, numAbove(1 - error));
  const high = Math.min(survivors.num.high, numAbove(1 + error));
  if (!survivors.isOpen || heaviest * (1 + error) < bound) return closed(sums, low, high);
  return { num: { low, high }, mass: { low: sums[low]!, high: survivors.mass.high }, isOpen: true };
}

function closed(sums: number[], low: number, high: number): Survivors {
  return { num: { low, high }, mass: { low: sums[low]!, high: sums[high]! }, isOpen: false };
}

function drawFrom(weighed: Weighed, { num, mass, isOpen }: Survivors, u: number): Redraw {
  const sums = cumulative(weighed);
  const place = (target: number) => sums.findIndex((sum, n) => n > 0 && sum > target);
  const low = place(u * mass.low * (1 - weighed.error));
  let high = place(u * mass.high * (1 + weighed.error));
  if (!isOpen && (high < 0 || high > num.high)) high = num.high;
  if (low < 0 || high < 0)
    return unknown(
      `the draw may lie beyond the ${NUM_RECORDED} recorded candidates, whose weight is not known`,
    );
  if (low !== high || low > num.low)
    return unknown("the recorded figures are not exact enough: the draw could fall on more than one token");
  const { id, piece } = weighed.known[low - 1]!;
  return { kind: "drawn", id, piece };
}
