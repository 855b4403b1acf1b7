/** The play button's action, here and on the journey's stage. */
import type { RequestTrace } from "../../state/request/request-trace.svelte";

const calm = "(prefers-reduced-motion: reduce)";

/** True when the reader wants changes of state without movement. */
export const isCalm = (): boolean => matchMedia(calm).matches;

/** With reduced motion, explaining goes on by one stop at each press. */
export function playOrPause(trace: RequestTrace): void {
  if (trace.isPlaying) trace.pause();
  else if (trace.speed !== "explain" || !isCalm()) trace.play();
  else if (trace.isAtEnd) trace.seek(0);
  else trace.showStop();
}
