/** The bars under some settings: of a few candidates, the draw's own and the one it would fall on among them. */
import type { SamplingParams, TokenSampled } from "../../protocol/events";
import type { PieceOf } from "../../trace/sampling/dry";
import { columns, finalProbabilities } from "../../trace/sampling/probability";
import { NUM_RECORDED, spread, type Range, type Settings, type Spread } from "../../trace/sampling/whatif";

export interface Bar {
  id: number;
  piece: string;
  /** Its chance; a range where the log leaves one. */
  chance: Range;
  /** Null: the log does not decide. */
  isCut: boolean | null;
}

export interface Bars {
  rows: Bar[];
  /** All other tokens, listed or not. */
  others: number;
  /** All that is left, from 0 to 1 in the order of the draw; without an id: others, which are not recorded. */
  strip: { id: number | null; share: number }[];
}

const NUM_ROWS = 5;
export const middle = ({ low, high }: Range): number => (low + high) / 2;

/** With the request's own settings the log tells the chances themselves; null: it tells none. */
export function recordedSpread(token: TokenSampled, params: SamplingParams): Spread | null {
  const final = finalProbabilities(token, params);
  if (!final) return null;
  const others = token.processors?.length ? columns(token, params).at(-1)!.others : 0;
  const chances = token.candidate_ids.map((id, index) => {
    const share = final[index] ?? 0;
    const piece = token.candidate_pieces[index] ?? "";
    return { id, piece, low: share, high: share, isCut: final[index] == null };
  });
  return { chances, others: { low: others, high: others } };
}

/** Under these settings, after these tokens; null: the log does not tell. */
export function spreadUnder(
  token: TokenSampled,
  params: SamplingParams,
  wanted: Settings | null,
  prompt: readonly number[],
  output: readonly number[],
  pieceOf: PieceOf,
): Spread | null {
  return wanted ? spread(token, params, wanted, prompt, output, pieceOf) : recordedSpread(token, params);
}

/** The same candidates as rows whatever the settings are, so that bars move and rows do not. */
export function barsOf(token: TokenSampled, found: Spread, drawn: number | null): Bars {
  const of = new Map(found.chances.map((chance) => [chance.id, chance]));
  const ids = token.candidate_ids;
  const shown = ids.filter((id, rank) => rank < NUM_ROWS || id === token.id || id === drawn);
  const rows = shown.map((id): Bar => {
    const chance = of.get(id);
    const piece = token.candidate_pieces[ids.indexOf(id)] ?? "";
    if (!chance) return { id, piece, chance: { low: 0, high: 0 }, isCut: null };
    return { id, piece, chance: { low: chance.low, high: chance.high }, isCut: chance.isCut };
  });
  const listed = rows.reduce((sum, { chance }) => sum + middle(chance), 0);
  return { rows, others: Math.max(0, 1 - listed), strip: stripOf(token, found) };
}

/** A log's chosen token may come after the recorded candidates: the gap between belongs to the others. */
function stripOf({ id, low, candidate_ids }: TokenSampled, { chances }: Spread): Bars["strip"] {
  let reached = 0;
  const strip: Bars["strip"] = [];
  for (const chance of chances) {
    if (chance.isCut === true) continue;
    const isBeyond = chance.id === id && candidate_ids.indexOf(id) >= NUM_RECORDED;
    if (isBeyond && low !== null && low > reached) strip.push({ id: null, share: low - reached });
    const share = middle(chance);
    strip.push({ id: chance.id, share });
    reached = isBeyond && low !== null ? low + share : reached + share;
  }
  if (reached < 0.9995) strip.push({ id: null, share: 1 - reached });
  return strip;
}
