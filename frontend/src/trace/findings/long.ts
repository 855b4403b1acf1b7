/** The finding on a long request that spent most of its time writing, at any pace. */
import { count, counted, duration } from "../format";
import { median, numOthers, stepsOf, type EngineStep } from "../timing/steps";
import { isOver, tookUntil, type TraceView } from "../view";
import { MOST, type Finding } from "./finding";

/** A long request. After about ten seconds attention is lost (Miller 1968; Nielsen 1993). */
const LONG_US = 10_000_000;
/** Ratio of the last steps to the first ones from which on the steps have grown slower. */
const GREW = 1.2;
/** Least number of steps to compare: a tenth of fewer steps says little. */
const TELLING_STEPS = 50;

export function longWriting(view: TraceView, writing: number): Finding[] {
  const total = tookUntil(view, view.at);
  if (!isOver(view) || view.isStepped || total < LONG_US || writing / total <= MOST) return [];
  const { length } = view.tokens;
  const steps = stepsOf(view).filter(({ kind }) => kind === "decode");
  const sentence = `The request took ${duration(total)}. Writing ${counted(length, "token")} took ${duration(writing)} of it, ${duration(writing / (length - 1))} each${growth(steps)}${sharing(steps)}.`;
  return [{ kind: "long", sentence, weight: Math.min(1, writing / total) }];
}

/** The slowdown from the first tenth of the steps to the last, in words; empty: there is none. */
function growth(steps: EngineStep[]): string {
  const timed = steps.filter(({ us }) => us !== null);
  if (timed.length < TELLING_STEPS) return "";
  const tenth = Math.floor(timed.length / 10);
  const [first, last] = [timed.slice(0, tenth), timed.slice(-tenth)];
  const [before, after] = [first, last].map((part) => median(part.map(({ us }) => us!))!);
  if (after! < GREW * before!) return "";
  const isAlone = [...first, ...last].every((step) => numOthers(step) === 0);
  return `. A step took ${duration(before!)} at first and ${duration(after!)} at the end${isAlone ? ", as the context grew longer" : ""}`;
}

function sharing(steps: EngineStep[]): string {
  const known = steps.map(numOthers).filter((others) => others !== null);
  if (!known.length || known.length < steps.length) return "";
  const shared = known.filter((others) => others > 0).length;
  if (!shared) return ". No step was shared with another request";
  return `. Other requests shared ${count(shared)} of ${counted(known.length, "step")}`;
}
