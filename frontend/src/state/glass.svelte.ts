/** Whether the glass stands open beside the chat: from the first visit on where there is room, and then as it was left. */

const KEY = "sightglass-inspector";
/** Chat and glass have room beside each other. */
const WIDE = "(min-width: 1100px)";

export class GlassState {
  readonly isWide = matchMedia(WIDE).matches;
  isOpen = $state(false);

  constructor() {
    this.isOpen = this.isWide && localStorage.getItem(KEY) !== "closed";
  }

  /** On a narrow screen the glass covers the chat: there it says nothing about the next visit. */
  keep(isOpen: boolean): void {
    if (this.isWide) localStorage.setItem(KEY, isOpen ? "open" : "closed");
  }
}
