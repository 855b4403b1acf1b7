/**
 * Whether the timeline is folded into a strip, as it was left; at first where a panel would have no room below it. A page
 * that may keep nothing (an exported one in a frame of its own origin) begins anew each time.
 */

const KEY = "sightglass-timeline";
/** With the timeline open less than half of a lower window is left for the panel, px. */
const ROOMY = 1200;

export function keptFold(): boolean {
  const kept = read();
  return kept ? kept === "folded" : innerHeight < ROOMY;
}

function read(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

export function keepFold(isFolded: boolean): void {
  try {
    localStorage.setItem(KEY, isFolded ? "folded" : "open");
  } catch {
    // It is folded all the same, as long as the page is open.
  }
}
