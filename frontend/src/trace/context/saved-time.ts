/** The time that the prefix cache saved, in words, as far as it is known. */
import type { CacheLookedUp } from "../../protocol/events";
import { duration, roughly } from "../format";

/** "41 ms", "at least 41 ms", "about 41 ms"; null: not known. */
export function savedTime(cache: CacheLookedUp): string | null {
  const { saved_us, num_timed_tokens, num_cached_tokens } = cache;
  if (!saved_us) return null;
  // A trace from before it was recorded has an estimate.
  if (num_timed_tokens == null) return `about ${roughly(saved_us)}`;
  return num_timed_tokens < num_cached_tokens ? `at least ${duration(saved_us)}` : duration(saved_us);
}
