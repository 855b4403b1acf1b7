/** The level of a limit's bucket at any moment after the gateway's check. Knows this request alone: its log does not hold
 * what other requests take or give back meanwhile. */
import type { Limit } from "../protocol/events";

export interface Level {
  /** The amount that could still be taken. */
  left: number;
  /** The amount that this request took and has not given back: a place among the open requests until it ends. */
  held: number;
}

/** `since`: µs from the gateway's check until the moment; null: the log lacks the facts. */
export function levelAt(limit: Limit, since: number, isEnded: boolean): Level | null {
  const { name, limit: most, remaining, num_taken: taken, refill_per_s: rate } = limit;
  // Traces from before these were recorded have no such fields.
  if (taken == null || rate == null) return null;
  const held = name === "concurrency" && !isEnded ? taken : 0;
  const comesBack = name === "concurrency" && isEnded ? taken : 0;
  const refilled = (rate * Math.max(0, since)) / 1e6;
  return { left: Math.max(0, Math.min(most, remaining - taken + comesBack + refilled)), held };
}

/** µs until it is full again by itself; 0: it is; null: time does not fill it, or the rate is not recorded. */
export function fullAfter({ limit: most, refill_per_s: rate }: Limit, { left }: Level): number | null {
  if (left >= most) return 0;
  return rate ? ((most - left) / rate) * 1e6 : null;
}
