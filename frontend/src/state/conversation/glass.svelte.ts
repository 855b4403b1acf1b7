/** The glass beside the chat: open on the first visit where there is room, and then as it was left. */

import { MediaQuery } from "svelte/reactivity";

const KEY = "sightglass-inspector";
/** Chat and glass have room beside each other. */
const WIDE = "min-width: 1100px";

export class GlassState {
  private readonly wide = new MediaQuery(WIDE);
  isOpen = $state(false);

  constructor() {
    this.isOpen = this.isWide && localStorage.getItem(KEY) !== "closed";
  }

  /** A window may be resized and a tablet turned. */
  get isWide(): boolean {
    return this.wide.current;
  }

  /** On a narrow screen the glass covers the chat: there it says nothing about the next visit. */
  keep(isOpen: boolean): void {
    if (this.isWide) localStorage.setItem(KEY, isOpen ? "open" : "closed");
  }
}
