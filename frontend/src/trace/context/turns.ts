/** The changes of the context since the turn before, segment by segment. */
import type { CacheLookedUp, ContextAssembled, ContextCompared } from "../../protocol/events";
import { count } from "../format";

export type Change = "unchanged" | "added" | "changed";

/** The change of each of this request's segments. */
export function segmentChanges(context: ContextAssembled, { added, changed }: ContextCompared): Change[] {
  const isAdded = new Set(added);
  const isChanged = new Set(changed.map(({ index }) => index));
  return context.segments.map((_, index) =>
    isAdded.has(index) ? "added" : isChanged.has(index) ? "changed" : "unchanged",
  );
}

/** The cached tokens beyond those that the turn before left: answers to one message share the text behind it. */
export function cachedOf(
  { num_cached_tokens: had }: CacheLookedUp,
  { num_common_tokens: most }: ContextCompared,
  numPrompt: number,
): string {
  if (had > numPrompt)
    return `it had ${count(had)}, ${count(had - numPrompt)} of them of the answer that this one continues`;
  if (had <= most) return `it had ${count(had)}`;
  return `it had ${count(had)}: ${count(had - most)} more came from another request, such as another answer to the same message`;
}

/** Tokens of each kind of change; unchanged, added and changed segments together are the prompt. */
export function totals(
  context: ContextAssembled,
  compared: ContextCompared,
): Record<Change | "removed", number> {
  const sums = { unchanged: 0, added: 0, changed: 0 };
  segmentChanges(context, compared).forEach((change, index) => {
    const { start, end } = context.segments[index]!;
    sums[change] += end - start;
  });
  return { ...sums, removed: compared.removed.reduce((sum, { num_tokens }) => sum + num_tokens, 0) };
}
