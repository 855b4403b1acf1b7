/** What the play button does, here and on the journey's stage. */
import type { RequestTrace } from "../../state/request/request-trace.svelte";

const calm = "(prefers-reduced-motion: reduce)";

/** Whether the reader wants changes of state, and no movement. */
export const isCalm = (): boolean => matchMedia(calm).matches;

/** Where no motion is wanted, explaining goes on by one stop at each press. */
export function playOrPause(trace: RequestTrace): void {
  if (trace.isPlaying) trace.pause();
  else if (trace.speed !== "explain" || !isCalm()) trace.play();
  else if (trace.isAtEnd) trace.seek(0);
  else trace.showStop();
}
