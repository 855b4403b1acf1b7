/** Why a request that runs is not followed. */
import type { RequestTrace } from "./request-trace.svelte";

/** In the place of the request's activity; null: it is followed, or it is over. */
export function brokenState(trace: RequestTrace): string | null {
  if (trace.isOver) return null;
  if (trace.refusal) return "not followed";
  return trace.isLost ? "connection lost" : null;
}
