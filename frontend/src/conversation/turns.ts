/** What the turns of a conversation add up to, in numbers and sentences. Only what was recorded is told. */
import type { Usage } from "../protocol/events";
import { count, counted, money, percent } from "../trace/format";
import type { Costs, Turn } from "../transport/api";

export interface PromptPart {
  name: "system" | "history" | "message" | "kept" | "prompt";
  value: number;
}

/** Of the prompt's tokens by where they come from, its beginning first; null: not known. */
export function promptParts({ context, usage }: Turn): PromptPart[] | null {
  if (context) {
    const { kinds, num_prompt_tokens: all } = context;
    const history = kinds.history ?? 0;
    const message = kinds.user ?? 0;
    const kept = promptLength({ context, usage })! - all;
    // The template's own tokens stand between all others; they are counted with the system prompt.
    return [
      { name: "system", value: all - history - message },
      { name: "history", value: history },
      { name: "message", value: message },
      ...(kept ? [{ name: "kept" as const, value: kept }] : []),
    ];
  }
  return usage && { name: "prompt", value: inputOf(usage) }.value > 0
    ? [{ name: "prompt", value: inputOf(usage) }]
    : null;
}

/** All that was read, a fork's kept answer behind its prompt too; null: not known. */
export function promptLength({ context, usage }: Pick<Turn, "context" | "usage">): number | null {
  const read = usage ? inputOf(usage) : 0;
  return Math.max(read, context?.num_prompt_tokens ?? 0) || null;
}

export function inputOf(usage: Usage): number {
  return usage.uncached_input + usage.cache_read + usage.cache_write_5m + usage.cache_write_1h;
}

export interface Total {
  /** By currency, in billionths. */
  amounts: Map<string, number>;
  /** Requests of which no cost is known. */
  numUnpriced: number;
}

const NOTHING: Total = { amounts: new Map(), numUnpriced: 0 };

/** Whether it used anything that could have a price. */
const isBillable = ({ usage }: Costs) => usage !== null && inputOf(usage) + usage.output > 0;

export function add(total: Total, costs: Costs): Total {
  if (!isBillable(costs)) return total;
  if (costs.cost_nano === null) return { ...total, numUnpriced: total.numUnpriced + 1 };
  const amounts = new Map(total.amounts);
  const currency = costs.currency ?? "";
  amounts.set(currency, (amounts.get(currency) ?? 0) + costs.cost_nano);
  return { ...total, amounts };
}

/** After each turn. */
export function soFar(turns: readonly Costs[]): Total[] {
  let total = NOTHING;
  return turns.map((turn) => (total = add(total, turn)));
}

export const sum = (all: readonly Costs[]): Total => all.reduce(add, NOTHING);

export function totalText({ amounts, numUnpriced }: Total): string {
  const told = [...amounts].map(([currency, nano]) => money(nano, currency));
  if (numUnpriced) told.push(`${numUnpriced} unpriced`);
  return told.join(" + ") || "nothing";
}

/** Of the prompt's tokens, how many came from the cache. */
export function cacheText({ usage }: Turn): string {
  if (!usage || !inputOf(usage)) return "not known";
  return percent(usage.cache_read / inputOf(usage));
}

/** What all prompts together read from the cache. */
export function cacheSentence(turns: readonly Turn[]): string {
  const usages = turns.flatMap(({ usage }) => usage ?? []);
  const all = usages.reduce((total, usage) => total + inputOf(usage), 0);
  if (!all) return "";
  const read = usages.reduce((total, { cache_read }) => total + cache_read, 0);
  return `Of ${counted(all, "prompt token")}, ${count(read)} (${percent(read / all)}) came from the cache.`;
}

export function costSentence(turns: readonly Costs[], others: readonly Costs[]): string {
  const shown = `These turns cost ${totalText(sum(turns))}`;
  const beside = others.filter(isBillable);
  return beside.length
    ? `${shown}; ${counted(beside.length, "other answer")} beside them cost ${totalText(sum(beside))}.`
    : `${shown}.`;
}

/** Where the window was full, what of the prompt then came from the cache, and what had before. */
export function trimSentences(turns: readonly Turn[]): string[] {
  return turns.flatMap((turn, index) => {
    const before = turns[index - 1];
    const numNew = (turn.context?.num_dropped ?? 0) - (before?.context?.num_dropped ?? 0);
    return numNew > 0 ? [trimSentence(turn, before, index + 1)] : [];
  });
}

function trimSentence(turn: Turn, before: Turn | undefined, number: number): string {
  const { num_dropped, num_dropped_tokens } = turn.context!;
  const left = `Turn ${number} left out ${counted(num_dropped, "message")} (${counted(num_dropped_tokens, "token")}) that did not fit.`;
  if (!turn.usage || !before?.usage || !inputOf(before.usage)) return left;
  const share = ({ usage }: Turn) =>
    `${count(usage!.cache_read)} of ${counted(inputOf(usage!), "prompt token")}`;
  return `${left} It read ${share(turn)} from the cache; the turn before read ${share(before)}.`;
}
