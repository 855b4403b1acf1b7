/** The cost of usage, by the bill's rule (webapp/billing/bill.py). */
import type { Usage } from "../protocol/events";
import type { UnitPrices } from "../protocol/api";

export const KINDS = ["uncached_input", "cache_read", "cache_write_5m", "cache_write_1h", "output"] as const;

/** The cost in billionths of the currency unit. */
export function costOf(usage: Usage, { unit_prices_nano }: UnitPrices): number {
  return KINDS.reduce((sum, kind) => sum + usage[kind] * unit_prices_nano[kind], 0);
}

/** Running totals. */
export function summed(costs: number[]): number[] {
  let sum = 0;
  return costs.map((cost) => (sum += cost));
}
