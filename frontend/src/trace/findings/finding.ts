/** A finding in one request: a plain sentence and the place that shows it. Knows no panel. */

export type FindingKind =
  | "failed"
  | "blocked"
  | "withheld"
  | "flagged"
  | "cut"
  | "stopped"
  | "stop-text"
  | "empty"
  | "resumed"
  | "wait"
  | "wait-queue"
  | "wait-prefill"
  | "wait-check"
  | "batch"
  | "slow"
  | "long"
  | "stall"
  | "preempted"
  | "drafts"
  | "grammar"
  | "tool"
  | "cache"
  | "dropped"
  | "lossy"
  | "odd"
  | "loop"
  | "cost";

export interface Finding {
  kind: FindingKind;
  sentence: string;
  /** Share of its subject (the wait, the answer, the cost) that it explains, 0 to 1. The largest comes first. */
  weight: number;
  /** The generated token at which it is seen. */
  position?: number;
  /** The moment at which it is seen, µs since acceptance. */
  at?: number;
}

/** Least share of a whole that is called most of it. */
export const MOST = 0.5;
