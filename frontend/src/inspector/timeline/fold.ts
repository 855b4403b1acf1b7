/** Whether the timeline is folded into a strip, as it was left; at first where a panel would have no room below it. */

const KEY = "sightglass-timeline";
/** With the timeline open less than half of a lower window is left for the panel, px. */
const ROOMY = 1200;

export function keptFold(): boolean {
  const kept = localStorage.getItem(KEY);
  return kept ? kept === "folded" : innerHeight < ROOMY;
}

export function keepFold(isFolded: boolean): void {
  localStorage.setItem(KEY, isFolded ? "folded" : "open");
}
