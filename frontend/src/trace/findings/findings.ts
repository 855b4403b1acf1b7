/**
 * The reasons for a slow, costly or odd answer, in a few plain sentences, the most important first.
 *
 * Knows the request's events alone, and omits ordinary facts.
 */
import { duration } from "../format";
import { outcomeOf } from "../outcome";
import { tokensPerSecond } from "../words/sentences";
import type { TraceView } from "../view";
import { firstText, seenOrSentUs, sinceWhen } from "../timing/waits";
import { endings } from "./ending";
import type { Finding } from "./finding";
import { payments } from "./paying";
import { readings } from "./reading";
import { firstWait } from "./waiting";
import { wordings } from "./wording";
import { writing } from "./writing";

/** The findings, largest first; equal ones by kind: the end, the time, the reading. */
export function findings(view: TraceView): Finding[] {
  const about = [endings, firstWait, writing, readings, wordings, payments];
  return about.flatMap((find) => find(view)).sort((a, b) => b.weight - a.weight);
}

/** The sentence for a request without findings: its ordinary course. */
export function nothingUnusual(view: TraceView): string {
  if (!view.accepted) return "Nothing is recorded yet.";
  const outcome = outcomeOf(view);
  const first = seenOrSentUs(view);
  const speed = tokensPerSecond(view);
  const facts = [
    first !== null && `the first text came ${duration(first)} after ${sinceWhen(firstText(view)!)}`,
    speed !== null && `the model wrote ${speed.toFixed(0)} tokens a second`,
    outcome === "done" && "the model ended its turn itself",
  ].filter((fact): fact is string => !!fact);
  const last = facts.pop();
  const said = last ? `: ${facts.length ? `${facts.join(", ")}, and ${last}` : last}` : "";
  return `Nothing unusual${outcome === "running" ? " so far" : ""}${said}.`;
}
