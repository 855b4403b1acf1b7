/** The hue of each kind of untrusted text, as in the Context panel's bar. */
import type { TaintKind } from "../trace/context/taint";

const HUES: Record<TaintKind, number> = { attachment: 60, result: 190, memory: 90 };

export function taintColor(kind: TaintKind): string {
  return `oklch(var(--stage-l) var(--stage-c) ${HUES[kind]})`;
}
