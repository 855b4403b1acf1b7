/** A token's candidates as they lose and gain probability from processor to processor, and their places at the draw. */
import type { SamplingParams, TokenSampled } from "../../protocol/events";
import { columns, isGreedy, type Column } from "../../trace/sampling/probability";

export interface Mass {
  /** Its index in the token's candidate list. */
  index: number;
  id: number;
  isDrawn: boolean;
  /** Its share after the model and after each processor; 0 once it is removed. */
  shares: number[];
  /** Its interval in the last distribution, from 0 to 1; null: it has none, or it is not known. */
  interval: { low: number; high: number } | null;
}

export interface Masses {
  /** In candidate order: the most likely survivors, some removed candidates, and always the drawn one. */
  rows: Mass[];
  /** The joint share of all others, after the model and after each processor. */
  others: number[];
  /** Intervals of the last distribution that no row covers. */
  rest: { low: number; high: number }[];
  /** Each step, with the number of candidates left after it; null: it removed none, or that is not known. */
  steps: { name: Column["name"] | "greedy"; numLeft: number | null }[];
  /** True when the draw is known, or greedy decoding needed none. */
  isDrawKnown: boolean;
}

export function massesOf(token: TokenSampled, params: SamplingParams, most: number): Masses {
  const table = columns(token, params);
  const isKnown = isGreedy(token) || token.processors !== null;
  const shown = chosenRows(token, table, Math.max(1, most));
  const final = table.at(-1)!;
  const intervals = isKnown ? intervalsOf(token, final) : token.candidate_ids.map(() => null);
  const rows = shown.map((index) => ({
    index,
    id: token.candidate_ids[index]!,
    isDrawn: token.candidate_ids[index] === token.id,
    shares: sharesOf(token, table, index),
    interval: intervals[index] ?? null,
  }));
  return {
    rows,
    others: othersOf(token, table, new Set(shown)),
    rest: isKnown ? uncovered(rows) : [],
    steps: stepsOf(table, token),
    isDrawKnown: isKnown,
  };
}

/** Shares of one candidate by step. Greedy decoding ends with the whole mass on the chosen token. */
function sharesOf(token: TokenSampled, table: Column[], index: number): number[] {
  const shares = table.map(({ probabilities }) => Math.min(1, probabilities[index] ?? 0));
  return isGreedy(token) ? [...shares, token.candidate_ids[index] === token.id ? 1 : 0] : shares;
}

/** The joint share of recorded candidates without a row and of unrecorded ones, as in the panels' columns. */
function othersOf(token: TokenSampled, table: Column[], shown: Set<number>): number[] {
  const found = table.map(({ probabilities, others }) =>
    probabilities.reduce<number>((sum, p, index) => sum + (shown.has(index) ? 0 : (p ?? 0)), others),
  );
  return isGreedy(token) ? [...found, 0] : found;
}

/** The steps. Logits are rounded, so the removed mass may be too small to show: the number of candidates counts too. */
function stepsOf(table: Column[], token: TokenSampled): Masses["steps"] {
  const steps: Masses["steps"] = table.map(({ name, numCandidates, mass }, index) => ({
    name,
    numLeft: mass < 1 || (numCandidates ?? 0) < (table[index - 1]?.numCandidates ?? 0) ? numCandidates : null,
  }));
  return isGreedy(token) ? [...steps, { name: "greedy", numLeft: 1 }] : steps;
}

function chosenRows(token: TokenSampled, table: Column[], most: number): number[] {
  const final = table.at(-1)!.probabilities;
  const all = token.candidate_ids.map((_, index) => index);
  const left = all.filter((index) => final[index] !== null);
  const gone = all.filter((index) => final[index] === null);
  const drawn = token.candidate_ids.indexOf(token.id);
  const numGone = Math.min(gone.length, Math.max(Math.floor(most / 3), most - left.length));
  const found = new Set([...left.slice(0, Math.max(0, most - numGone)), ...gone.slice(0, numGone)]);
  if (drawn >= 0 && !found.has(drawn)) {
    if (found.size >= most) found.delete([...found].at(-1)!);
    found.add(drawn);
  }
  return [...found].sort((a, b) => a - b);
}

/** The intervals: the drawn candidate's as recorded, the others' fitted around it, since their logits are rounded. */
function intervalsOf(token: TokenSampled, final: Column): Mass["interval"][] {
  const drawn = token.candidate_ids.indexOf(token.id);
  const { low, high } = token;
  if (low === null || high === null) return token.candidate_ids.map(() => null);
  if (isGreedy(token))
    return token.candidate_ids.map((_, index) => (index === drawn ? { low: 0, high: 1 } : null));
  let sum = 0;
  return final.probabilities.map((share, index) => {
    if (share === null) return null;
    if (index === drawn) {
      sum = high;
      return { low, high };
    }
    const from = sum;
    sum = Math.min(1, index < drawn ? Math.min(low, sum + share) : sum + share);
    return { low: Math.min(from, sum), high: sum };
  });
}

function uncovered(rows: Mass[]): { low: number; high: number }[] {
  const found: { low: number; high: number }[] = [];
  let reached = 0;
  const known = rows.flatMap(({ interval }) => (interval ? [interval] : [])).sort((a, b) => a.low - b.low);
  for (const { low, high } of [...known, { low: 1, high: 1 }]) {
    if (low - reached > 1e-4) found.push({ low: reached, high: low });
    reached = Math.max(reached, high);
  }
  return found;
}
