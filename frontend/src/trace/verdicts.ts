/** The verdicts of the safety checks: their names on the screen, and which one decides. */
import type { SafetyChecked } from "../protocol/events";

export type Verdict = SafetyChecked["verdict"];

/** The verdict's name on the screen. A flag stops nothing. */
export const VERDICT_NAMES: Record<Verdict, string> = {
  allow: "allowed",
  flag: "flagged",
  rewrite: "rewritten",
  block: "blocked",
};

/** The verdict within a sentence, where no other sentence says that a flag stops nothing. */
export const verdictWords = (verdict: Verdict): string =>
  verdict === "flag" ? "flagged, but allowed" : VERDICT_NAMES[verdict];

/** The verdict that decides on a text of several checks. */
export const gravest = (verdicts: Verdict[]): Verdict =>
  (["block", "rewrite", "flag"] as const).find((each) => verdicts.includes(each)) ?? "allow";
