/** Which traces are compared: addresses, and why a choice is none. */

export const MOST = 6;

export function compareAddress(ids: string[]): string {
  return `/compare?ids=${ids.join(",")}`;
}

/** Why these cannot be compared; empty when they can, also when there are too few yet. */
export function problemOf(ids: string[]): string {
  if (new Set(ids).size < ids.length)
    return "The same trace is named twice; a trace has no difference from itself.";
  if (ids.length > MOST) return `${ids.length} traces are too many; at most ${MOST} can be compared.`;
  return "";
}
