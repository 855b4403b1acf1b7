/** Fills of groups: Okabe and Ito's colours, set in UsagePage, and a pattern from the fourth on, so that no two look alike. */
export const NUM_COLORS = 6;
const NUM_PLAIN = 3;

export interface Fill {
  /** A CSS variable. */
  color: string;
  pattern: "plain" | "rising" | "falling" | "dotted";
}

const PATTERNS = ["rising", "falling", "dotted"] as const;

/** The fill of the group at this place; the group of all others is grey. */
export function fillOf(place: number, isRest: boolean): Fill {
  if (isRest || place >= NUM_COLORS) return { color: "var(--group-rest)", pattern: "plain" };
  const pattern = place < NUM_PLAIN ? "plain" : PATTERNS[place - NUM_PLAIN]!;
  return { color: `var(--group-${place})`, pattern };
}
