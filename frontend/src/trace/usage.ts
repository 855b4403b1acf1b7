/** The sums of a request's tokens, at any price. */
import type { UnitPrices } from "../protocol/api";
import type { Usage } from "../protocol/events";

/** All that it came with. */
export function inputOf(usage: Usage): number {
  return usage.uncached_input + usage.cache_read + usage.cache_write_5m + usage.cache_write_1h;
}

export const KINDS = ["uncached_input", "cache_read", "cache_write_5m", "cache_write_1h", "output"] as const;

/** The prices of a batch's requests, by the rule of webapp/models/billing/price_book.py: half, rounded up. */
export function pricesOfBatch(prices: UnitPrices): UnitPrices {
  const unit_prices_nano = { ...prices.unit_prices_nano };
  for (const kind of KINDS) unit_prices_nano[kind] = Math.ceil(unit_prices_nano[kind] / 2);
  return { ...prices, unit_prices_nano };
}

/** The cost in billionths of the currency's unit, by the bill's rule (webapp/models/billing/bill.py). */
export function costOf(usage: Usage, { unit_prices_nano }: UnitPrices): number {
  return KINDS.reduce((sum, kind) => sum + usage[kind] * unit_prices_nano[kind], 0);
}
