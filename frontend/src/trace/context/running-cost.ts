/** The cost of a request so far: the tokens counted until now, at the prices of the bill. */
import type { BillPosted, Usage } from "../../protocol/events";
import type { UnitPrices } from "../../protocol/api";
import { eachGeneration, isOver, numRead, type TraceView } from "../view";
import { costOf, KINDS, pricesOfBatch } from "../usage";
import { computedTokens } from "./blocks";

/** The tokens so far. Those of a server that reports no cache are all computed. */
export function usageSoFar(view: TraceView): Usage {
  const sums: Usage = { uncached_input: 0, cache_read: 0, cache_write_5m: 0, cache_write_1h: 0, output: 0 };
  for (const each of eachGeneration(view)) {
    const usage = each.generation?.usage ?? usageOfRunning(each);
    for (const kind of KINDS) sums[kind] += usage[kind];
  }
  return sums;
}

function usageOfRunning(view: TraceView): Usage {
  const size = view.cache?.block_size ?? 0;
  const cached = view.cache?.num_cached_tokens ?? 0;
  const read = Math.min(computedTokens(view), numRead(view));
  const written = (ttl: string) =>
    view.stored.reduce((sum, each) => sum + (each.ttl === ttl ? each.num_blocks * size : 0), 0);
  const [short, long] = [written("5m"), written("1h")];
  return {
    uncached_input: Math.max(0, read - cached - short - long),
    cache_read: cached,
    cache_write_5m: short,
    cache_write_1h: long,
    output: view.tokens.length,
  };
}

/** In billionths of the currency's unit, of a batch's request at its lower price. prices: of the model.
 *
 * Null: the request is over, or nothing is counted yet. */
export function runningNano(view: TraceView, prices: UnitPrices): number | null {
  if (isOver(view) || view.bill) return null;
  const usage = usageSoFar(view);
  if (!KINDS.some((kind) => usage[kind])) return null;
  return costOf(usage, isInBatch(view) ? pricesOfBatch(prices) : prices);
}

/** True if the request answers a line of a batch, which costs less. */
export const isInBatch = (view: TraceView) => !!view.accepted?.batch_id;

export interface Saving {
  /** Tokens that were read from the cache. */
  numRead: number;
  /** What the same tokens would have cost without a cache, minus the bill. Null: the bill has no price of input. */
  nano: number | null;
}

/** What the cache saved, by the bill. Null: it read and wrote nothing. */
export function savedBy({ lines }: BillPosted): Saving | null {
  const used = lines.filter(({ kind }) => kind.startsWith("cache_"));
  if (!used.length) return null;
  const price = lines.find(({ kind }) => kind === "uncached_input")?.unit_price_nano;
  const saved = (unit: number) =>
    used.reduce((sum, line) => sum + line.num_tokens * (unit - line.unit_price_nano), 0);
  const numRead = used.find(({ kind }) => kind === "cache_read")?.num_tokens ?? 0;
  return { numRead, nano: price === undefined ? null : saved(price) };
}
