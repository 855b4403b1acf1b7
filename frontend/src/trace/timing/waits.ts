/** The user's wait, moment by moment: the intervals end to end, with the stretches that no event covers named. */
import type { StageId } from "../stages";
import { browserMoments } from "../browser-clock";
import { CHOICE, intervalTable } from "./intervals";
import { allReleases, firstTextUs, type Choice, type TraceView } from "../view";

export const BETWEEN = "Between stages";

export interface Wait {
  /** Null: between stages, where no event covers the time. */
  stage: StageId | null;
  label: string;
  /** µs since acceptance. */
  start: number;
  end: number;
}

/** Without holes and without overlaps, from the key press (or the arrival) to the last paint (or the last text). */
export function criticalPath(view: TraceView): Wait[] {
  const { start, end, intervals } = intervalTable(view);
  const path: Wait[] = [];
  const reach = (moment: number) => {
    const from = path.at(-1)?.end ?? start;
    if (moment > from) path.push({ stage: null, label: BETWEEN, start: from, end: moment });
  };
  for (const { stage, label, start: from, end: to, isBeside } of intervals) {
    if (isBeside || label === CHOICE) continue;
    reach(from);
    path.push({ stage, label, start: from, end: to });
  }
  reach(end);
  return path.flatMap((part) => (part.stage === "browser" ? [part] : interrupted(part, view.choices)));
}

/** Step mode: a part with the times in which a person was to choose cut out and named. */
function interrupted(part: Wait, choices: Choice[]): Wait[] {
  const pieces: Wait[] = [];
  let at = part.start;
  for (const choice of choices) {
    const [start, end] = [Math.max(choice.start, at), Math.min(choice.end, part.end)];
    if (end <= start) continue;
    if (start > at) pieces.push({ ...part, start: at, end: start });
    pieces.push({ stage: "browser", label: CHOICE, start, end });
    at = end;
  }
  if (at < part.end) pieces.push({ ...part, start: at });
  return pieces;
}

export const SINCE_ACCEPTED = "it was accepted";

export interface FirstText {
  /** Between which two moments it was measured. */
  from: string;
  to: string;
  /** True when the browser reported its paint. */
  isSeen: boolean;
  start: number;
  end: number;
  /** They follow each other without holes: their sum is the whole. */
  parts: Wait[];
}

/** The time to the first text in its parts; null while there is no text. */
export function firstText(view: TraceView): FirstText | null {
  const { keydown, firstPaint } = browserMoments(view);
  const path = criticalPath(view);
  const released = allReleases(view)[0]?.at;
  const end = firstPaint ?? released;
  const start = path[0]?.start;
  if (end == null || start === undefined || end <= start) return null;
  const parts = path
    .filter((part) => part.start < end)
    .map((part) => ({ ...part, end: Math.min(part.end, end) }));
  const last = parts.at(-1)!.end;
  if (last < end) parts.push({ stage: null, label: BETWEEN, start: last, end });
  return {
    from: keydown == null ? "its arrival" : "the key press",
    isSeen: firstPaint != null,
    to: firstPaint == null ? "the first text released" : "the first text painted",
    start,
    end,
    parts,
  };
}

/** The event from which a time to the first text counts: the same words in every place. */
export function sinceWhen({ isSeen, from }: FirstText): string {
  if (!isSeen) return SINCE_ACCEPTED;
  return from === "the key press" ? "Send was pressed" : "it arrived";
}

/** The seen time, from the key press, where the browser reported it; else the time of the line of figures. */
export function seenOrSentUs(view: TraceView): number | null {
  const first = firstText(view);
  if (!first) return null;
  return first.isSeen ? first.end - first.start : (firstTextUs(view) ?? first.end - first.start);
}

/** Milliseconds with one decimal (microseconds below two of them) that add up to the whole as it is shown, exactly. */
export function shownParts(lengths: number[]): {
  figures: number[];
  total: number;
  unit: "ms" | "µs";
  digits: number;
} {
  const whole = lengths.reduce((sum, length) => sum + length, 0);
  const isShort = whole < 2000;
  const grain = isShort ? 1 : 100;
  const exact = lengths.map((length) => length / grain);
  const figures = exact.map(Math.floor);
  let left = Math.round(whole / grain) - figures.reduce((sum, figure) => sum + figure, 0);
  const byRemainder = exact
    .map((value, index) => [value - figures[index]!, index] as const)
    .sort((a, b) => b[0] - a[0]);
  for (const [, index] of byRemainder) if (left-- > 0) figures[index]! += 1;
  const scale = isShort ? 1 : 10;
  return {
    figures: figures.map((figure) => figure / scale),
    total: Math.round(whole / grain) / scale,
    unit: isShort ? "µs" : "ms",
    digits: isShort ? 0 : 1,
  };
}
