/** What leaving messages out did to the cache. */
import type { ContextAssembled, ContextCompared } from "../../protocol/events";
import { counted } from "../format";
import type { TraceView } from "../view";
import { segmentChanges } from "./turns";

/** Tokens that stood in the turn before, too, and that the model computed again. */
export function readAgain(context: ContextAssembled, compared: ContextCompared, numCached: number): number {
  return segmentChanges(context, compared).reduce((sum, change, index) => {
    const { start, end } = context.segments[index]!;
    return change === "unchanged" ? sum + Math.max(0, end - Math.max(start, numCached)) : sum;
  }, 0);
}

/** Empty: nothing was left out since the turn before, or it is not known. */
export function cacheWords(view: TraceView, compared: ContextCompared | null): string {
  const { context, cache } = view;
  const left = [...(context?.dropped ?? []), ...(context?.summarised ?? [])];
  if (!context || !cache || !compared || !left.length) return "";
  const gone = new Set(compared.removed.map(({ source }) => source));
  if (!left.some(({ source }) => gone.has(source)))
    return "The turn before left out the same messages, so the cache was not affected again.";
  const again = readAgain(context, compared, cache.num_cached_tokens);
  if (!again) return "The cache lost nothing by it.";
  return `The text behind it moved, so the model read ${counted(again, "token")} again that stood in the turn before, too.`;
}
