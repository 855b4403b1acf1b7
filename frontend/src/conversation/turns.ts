/** The sums over a conversation's turns, in numbers and sentences, from recorded facts only. */
import { count, counted, money, percent } from "../trace/format";
import { inputOf } from "../trace/usage";
import type { Costs, Turn } from "../protocol/api";

export interface PromptPart {
  name: "system" | "history" | "message" | "kept" | "prompt";
  value: number;
}

/** The prompt's tokens by origin, its beginning first; null: not known. */
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
  return usage && inputOf(usage) > 0 ? [{ name: "prompt", value: inputOf(usage) }] : null;
}

/** All tokens read, including a fork's kept answer behind its prompt; null: not known. */
export function promptLength({ context, usage }: Pick<Turn, "context" | "usage">): number | null {
  const read = usage ? inputOf(usage) : 0;
  return Math.max(read, context?.num_prompt_tokens ?? 0) || null;
}

export interface Total {
  /** Amounts by currency, in billionths. */
  amounts: Map<string, number>;
  /** Requests of which no cost is known. */
  numUnpriced: number;
}

const NOTHING: Total = { amounts: new Map(), numUnpriced: 0 };

/** True when it used anything that could have a price. */
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

/** The prompt's tokens that came from the cache; null: not known. */
export function cachedOf({ usage, is_cache_known }: Turn): { cached: number; all: number } | null {
  if (!usage || !inputOf(usage) || is_cache_known === false) return null;
  return { cached: usage.cache_read, all: inputOf(usage) };
}

export function cacheText(turn: Turn): string {
  const read = cachedOf(turn);
  return read ? percent(read.cached / read.all) : "not known";
}

/** The tokens that all prompts together read from the cache. */
export function cacheSentence(turns: readonly Turn[]): string {
  const known = turns.flatMap((turn) => cachedOf(turn) ?? []);
  if (!known.length) return "";
  const all = known.reduce((total, turn) => total + turn.all, 0);
  const read = known.reduce((total, { cached }) => total + cached, 0);
  return `${count(read)} of ${counted(all, "prompt token")} (${percent(read / all)}) came from the cache.`;
}

export function costSentence(turns: readonly Costs[], others: readonly Costs[]): string {
  const shown = `These turns cost ${totalText(sum(turns))}`;
  const beside = others.filter(isBillable);
  return beside.length
    ? `${shown}; ${counted(beside.length, "other answer")} beside them cost ${totalText(sum(beside))}.`
    : `${shown}.`;
}

/** For each full window: the tokens then read from the cache, and those read before. */
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
  const [now, then] = [cachedOf(turn), before ? cachedOf(before) : null];
  if (!now || !then) return left;
  const share = ({ cached, all }: { cached: number; all: number }) =>
    `${count(cached)} of ${counted(all, "prompt token")}`;
  return `${left} It read ${share(now)} from the cache; the turn before read ${share(then)}.`;
}
