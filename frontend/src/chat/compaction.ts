/** Words on a summary that is not made yet. Pure: knows nothing of the server or the screen. */
import type { CompactionPreview } from "../protocol/api";
import { count, counted } from "../trace/format";

/** Its length is not known before it is made: the least that it saves. */
export function savingWords({ num_tokens_now: now, most_tokens_after: after }: CompactionPreview): string {
  if (after >= now)
    return `Perhaps nothing: the branch has ${counted(now, "token")}, and ${count(after)} with the longest summary.`;
  return `At least ${counted(now - after, "token")}: from ${count(now)} to at most ${count(after)}.`;
}

/** What it costs the cache. */
export function againWords({ num_cached: cached, num_read_again: again }: CompactionPreview): string {
  if (cached === null || again === null)
    return "Unknown: no worker reports it. The turns that stay are read again once.";
  if (!again) return `${counted(cached, "token")} are cached; none of the turns that stay is read again.`;
  return `The next request reads ${counted(again, "cached token")} again: the turns that stay then follow other text.`;
}
