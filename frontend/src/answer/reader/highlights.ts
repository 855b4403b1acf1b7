/** The page's custom highlights, which all answers on it share: each answer adds its own ranges and takes them away. */

export type HighlightName = "linked-token" | "answer-later";

/** True when this browser can paint a text without changing it. */
export const canHighlight = typeof CSS !== "undefined" && "highlights" in CSS;

/** One answer's ranges under one name. */
export class Painted {
  private ranges: AbstractRange[] = [];

  constructor(private readonly name: HighlightName) {}

  /** Replaces the ranges before. A range that is the same object costs nothing. */
  set(ranges: AbstractRange[]): void {
    if (!canHighlight) return;
    const remaining = new Set(ranges);
    const known = new Set(this.ranges);
    const shared = sharedHighlight(this.name);
    for (const range of this.ranges) if (!remaining.has(range)) shared.delete(range);
    for (const range of ranges) if (!known.has(range)) shared.add(range);
    this.ranges = ranges;
  }
}

function sharedHighlight(name: HighlightName): Highlight {
  const known = CSS.highlights.get(name);
  if (known) return known;
  const made = new Highlight();
  CSS.highlights.set(name, made);
  return made;
}
