/** The sums of a request's tokens, at any price. */
import type { Usage } from "../protocol/events";

/** All that it came with. */
export function inputOf(usage: Usage): number {
  return usage.uncached_input + usage.cache_read + usage.cache_write_5m + usage.cache_write_1h;
}
