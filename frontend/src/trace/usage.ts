/** What the tokens of a request come to, by whatever price. */
import type { Usage } from "../protocol/events";

/** All that it came with. */
export function inputOf(usage: Usage): number {
  return usage.uncached_input + usage.cache_read + usage.cache_write_5m + usage.cache_write_1h;
}
