/** The glass beside the chat. On the first visit it is open where it has room; later it is as the user left it. */

import { MediaQuery } from "svelte/reactivity";

const KEY = "sightglass-inspector";
/** Screens on which chat and glass have room beside each other. */
const WIDE = "min-width: 1100px";

export class GlassState {
  private readonly wide = new MediaQuery(WIDE);
  isOpen = $state(false);

  constructor() {
    this.isOpen = this.isWide && localStorage.getItem(KEY) !== "closed";
  }

  /** The width may change: windows are resized and tablets turned. */
  get isWide(): boolean {
    return this.wide.current;
  }

  /** Open or close the glass. A narrow screen, where it covers the chat, does not decide how the next visit begins. */
  keep(isOpen: boolean): void {
    if (this.isWide) localStorage.setItem(KEY, isOpen ? "open" : "closed");
  }
}
