/** What became of the context since the turn before, segment by segment. */
import type { ContextAssembled, ContextCompared } from "../protocol/events";

export type Change = "kept" | "added" | "changed";

/** Of each of this request's segments. */
export function segmentChanges(context: ContextAssembled, { added, changed }: ContextCompared): Change[] {
  const isAdded = new Set(added);
  const isChanged = new Set(changed.map(({ index }) => index));
  return context.segments.map((_, index) =>
    isAdded.has(index) ? "added" : isChanged.has(index) ? "changed" : "kept",
  );
}

/** Tokens of each kind of change; those of kept, added and changed segments together are the prompt. */
export function totals(
  context: ContextAssembled,
  compared: ContextCompared,
): Record<Change | "removed", number> {
  const sums = { kept: 0, added: 0, changed: 0 };
  segmentChanges(context, compared).forEach((change, index) => {
    const { start, end } = context.segments[index]!;
    sums[change] += end - start;
  });
  return { ...sums, removed: compared.removed.reduce((sum, { num_tokens }) => sum + num_tokens, 0) };
}
