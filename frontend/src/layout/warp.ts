/** Idle time and its compression: a map from the trace's time to the axis, on which idle gaps are shorter. */
import type { Range } from "./timeline";

/** Least share of the trace that counts as a gap. */
const GAP_SHARE = 0.05;
/** Width of a compressed gap when the whole trace is shown. */
const GAP_PX = 28;
const MOST_OF_AXIS = 0.5;

/** Stretches without a span or mark that are longer than GAP_SHARE of the whole; in order, disjoint. */
export function idleGaps(stretches: Range[], whole: Range): Range[] {
  if (!stretches.length) return [];
  const least = (whole.end - whole.start) * GAP_SHARE;
  const gaps: Range[] = [];
  let reached = whole.start;
  const leap = (to: number) => {
    if (to - reached > least) gaps.push({ start: reached, end: to });
  };
  for (const { start, end } of [...stretches].sort((a, b) => a.start - b.start)) {
    leap(Math.min(start, whole.end));
    reached = Math.max(reached, end);
  }
  leap(whole.end);
  return gaps;
}

/** The gaps that are at least two compressed gaps wide when the whole is shown `width` pixels wide. */
export function worthCompressing(gaps: Range[], whole: Range, width: number): Range[] {
  const least = ((whole.end - whole.start) * 2 * GAP_PX) / Math.max(1, width);
  return gaps.filter((gap) => gap.end - gap.start >= least);
}

export function idleTime(gaps: Range[]): number {
  return gaps.reduce((sum, gap) => sum + gap.end - gap.start, 0);
}

/** Maps time to a place on the axis and back. The two are monotone, and exact inverses of each other. */
export class Warp {
  constructor(
    readonly gaps: Range[],
    /** Length of each gap on the axis, µs of the uncompressed rest. */
    readonly gapLength: number,
  ) {}

  toAxis(time: number): number {
    let removed = 0;
    for (const { start, end } of this.gaps) {
      if (time <= start) break;
      const share = 1 - this.gapLength / (end - start);
      removed += (Math.min(time, end) - start) * share;
    }
    return time - removed;
  }

  toTime(place: number): number {
    let removed = 0;
    for (const { start, end } of this.gaps) {
      const from = start - removed;
      if (place <= from) break;
      if (place < from + this.gapLength) return start + ((place - from) / this.gapLength) * (end - start);
      removed += end - start - this.gapLength;
    }
    return place + removed;
  }
}

export const UNCOMPRESSED = new Warp([], 0);

/** Compress the gaps to GAP_PX each on an axis `width` pixels wide, or to less where they would fill half of it. */
export function compress(gaps: Range[], whole: Range, width: number): Warp {
  if (!gaps.length) return UNCOMPRESSED;
  const active = Math.max(1, whole.end - whole.start - idleTime(gaps));
  const share = Math.min(MOST_OF_AXIS, (gaps.length * GAP_PX) / Math.max(1, width));
  const length = (share * active) / (1 - share) / gaps.length;
  return new Warp(gaps, Math.min(length, ...gaps.map((gap) => gap.end - gap.start)));
}
