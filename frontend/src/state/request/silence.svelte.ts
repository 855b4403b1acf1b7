/** The time for which an answer that is being written has brought nothing, in whole seconds, as it grows. */
import { tokensPerSecond } from "../../trace/words/sentences";
import { isWriting } from "../../trace/words/summary";
import type { TraceView } from "../../trace/view";

/** A pause that is worth a word, ms. */
const PAUSE_MS = 1500;
/** A slow model pauses before each token: a pause is longer than so many usual ones. */
const NUM_USUAL = 3;
const TICK_MS = 500;

export class Silence {
  /** Null: tokens come, or none is to come. */
  seconds = $state<number | null>(null);

  /** view: a moment that is followed live; null: none is. Each new one ends the silence. */
  constructor(view: () => TraceView | null) {
    $effect(() => {
      const now = view();
      this.seconds = null;
      if (!now || !isWriting(now)) return;
      const since = performance.now();
      const pauseMs = Math.max(PAUSE_MS, (NUM_USUAL * 1000) / (tokensPerSecond(now) ?? Infinity));
      const timer = setInterval(() => {
        const ms = performance.now() - since;
        if (ms >= pauseMs) this.seconds = Math.round(ms / 1000);
      }, TICK_MS);
      return () => clearInterval(timer);
    });
  }
}
