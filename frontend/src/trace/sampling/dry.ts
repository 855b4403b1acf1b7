/** The DRY penalty as the engine reckons it (inference/sampling/dry.py), from token ids and their bytes alone. */
import type { SamplingParams } from "../../protocol/events";

export type DrySettings = Pick<
  SamplingParams,
  "dry_multiplier" | "dry_base" | "dry_allowed_length" | "dry_penalty_last_n" | "dry_sequence_breakers"
>;

/** A token's bytes in base64; undefined: not known. */
export type PieceOf = (id: number) => string | undefined;

/** As MAX_PENALTY there. */
const MAX_PENALTY = 10_000;
/** The piece of each token in a trace without texts (webapp/traces/export/redact.py). */
const REDACTED = btoa(binary("\u25ae "));

/** The loss of each penalised token, given the answer so far; null: the tokens' bytes are not known. */
export function dryPenalties(
  settings: DrySettings,
  output: readonly number[],
  pieceOf: PieceOf,
): Map<number, number> | null {
  const { dry_multiplier, dry_base, dry_allowed_length, dry_penalty_last_n, dry_sequence_breakers } =
    settings;
  if (!dry_multiplier || !dry_penalty_last_n) return new Map();
  const seen = dry_penalty_last_n < 0 ? output : output.slice(-dry_penalty_last_n);
  const breaking = breakersAmong(seen, dry_sequence_breakers, pieceOf);
  if (!breaking) return null;
  const penalties = new Map<number, number>();
  for (const [token, length] of continuations(seen, breaking)) {
    const penalty = dry_multiplier * dry_base ** (length - dry_allowed_length);
    if (length >= dry_allowed_length) penalties.set(token, Math.min(penalty, MAX_PENALTY));
  }
  return penalties;
}

/** Each token that would extend a sequence which the answer's end repeats, with the longest such sequence. */
function continuations(seen: readonly number[], breaking: Set<number>): Map<number, number> {
  const last = seen.length - 1;
  const breaker = seen.findLastIndex((id) => breaking.has(id));
  const longest = new Map<number, number>();
  for (let end = 0; end < last; end++) {
    let length = 0;
    while (length < last - breaker && length <= end && seen[end - length] === seen[last - length]) length++;
    const next = seen[end + 1]!;
    if (length && !breaking.has(next)) longest.set(next, Math.max(length, longest.get(next) ?? 0));
  }
  return longest;
}

function breakersAmong(seen: readonly number[], breakers: string[], pieceOf: PieceOf): Set<number> | null {
  const found = new Set<number>();
  if (!breakers.length) return found;
  const texts = breakers.map(binary);
  for (const id of new Set(seen)) {
    const piece = pieceOf(id);
    if (piece === undefined || piece === REDACTED) return null;
    const bytes = atob(piece);
    if (texts.some((text) => bytes.includes(text))) found.add(id);
  }
  return found;
}

/** A character for each byte of its UTF-8. */
function binary(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text));
}
