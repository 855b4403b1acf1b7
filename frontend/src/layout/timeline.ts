/** Geometry of the timeline: the box, the window on the axis and its ticks. Every input gives finite coordinates. */
import { UNCOMPRESSED, type Warp } from "./warp";

export interface Range {
  start: number;
  end: number;
}

/** Margin, so that marks at the edges are not cut off. */
const PAD_PX = 6;
/** Shortest window: times are whole microseconds. */
const MIN_WINDOW_US = 20;

/** Converts times to pixels and back. */
export interface Scale {
  width: number;
  /** The times at the edges, µs since acceptance. */
  start: number;
  end: number;
  usPerPx: number;
  toX: (time: number) => number;
  toTime: (x: number) => number;
}

/** Make the scale of a window, given in places of the warped axis. The scale itself takes and gives trace time. */
export function scale(window: Range, width: number, warp: Warp = UNCOMPRESSED): Scale {
  const inner = Math.max(1, width - 2 * PAD_PX);
  const usPerPx = Math.max(1e-6, window.end - window.start) / inner;
  const toX = (time: number) => PAD_PX + (warp.toAxis(time) - window.start) / usPerPx;
  const toTime = (x: number) => warp.toTime(window.start + (x - PAD_PX) * usPerPx);
  return { width, start: toTime(0), end: toTime(width), usPerPx, toX, toTime };
}

/** The range that holds all stretches; never empty. */
export function wholeRange(stretches: Range[]): Range {
  if (!stretches.length) return { start: 0, end: 1000 };
  const start = stretches.reduce((least, each) => Math.min(least, each.start), Infinity);
  const end = stretches.reduce((most, each) => Math.max(most, each.end), -Infinity);
  return { start, end: Math.max(end, start + 1000) };
}

/** The axis of a running request: with room ahead, growing in steps, so that bars do not shrink with every event. */
export function roomAhead({ start, end }: Range): Range {
  const least = 250_000;
  const step = Math.max(0, Math.ceil(Math.log((end - start) / least) / Math.log(1.5)));
  return { start, end: start + least * 1.5 ** step };
}

/** Zoom about a place on the axis; the result stays within the whole. */
export function zoom(window: Range, whole: Range, factor: number, about: number): Range {
  const full = whole.end - whole.start;
  const size = Math.min(full, Math.max(Math.min(full, MIN_WINDOW_US), (window.end - window.start) * factor));
  const share = Math.min(1, Math.max(0, (about - window.start) / (window.end - window.start)));
  return clamp({ start: about - share * size, end: about + (1 - share) * size }, whole);
}

export function pan(window: Range, whole: Range, us: number): Range {
  return clamp({ start: window.start + us, end: window.end + us }, whole);
}

/** A window that shows a range with a margin. */
export function around({ start, end }: Range, whole: Range): Range {
  const size = Math.max(MIN_WINDOW_US, (end - start) * 1.5);
  const middle = (start + end) / 2;
  return clamp({ start: middle - size / 2, end: middle + size / 2 }, whole);
}

/** The window, moved as little as needed to show the range. */
export function holding(window: Range, whole: Range, { start, end }: Range): Range {
  const air = (window.end - window.start) / 12;
  if (start < window.start) return pan(window, whole, start - window.start - air);
  if (end <= window.end) return window;
  return pan(window, whole, Math.min(end - window.end + air, start - window.start - air));
}

export function clamp(window: Range, whole: Range): Range {
  const size = Math.min(window.end - window.start, whole.end - whole.start);
  const start = Math.min(Math.max(window.start, whole.start), Math.max(whole.start, whole.end - size));
  return { start, end: start + size };
}

export interface Tick {
  x: number;
  label: string;
}

const TICK_PX = 96;

/** Round times for the axis, as many as the width has room for; none within a compressed gap. */
export function ticks(on: Scale, warp: Warp = UNCOMPRESSED): Tick[] {
  const rough = Math.max(1, on.usPerPx * TICK_PX);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999)!;
  const found: Tick[] = [];
  const most = Math.ceil(on.width / TICK_PX) + 2;
  for (let at = Math.ceil(on.start / step) * step; at <= on.end && found.length < most; at += step) {
    const gap = warp.gaps.find(({ start, end }) => at > start && at < end);
    if (gap) at = Math.ceil(gap.end / step) * step - step;
    else if (on.toX(at) - (found.at(-1)?.x ?? -TICK_PX) > TICK_PX * 0.6)
      found.push({ x: on.toX(at), label: tickLabel(at, step) });
  }
  return found;
}

/** The label of a tick, in one unit for the whole axis and with as many digits as the step needs. */
function tickLabel(at: number, step: number): string {
  if (Math.abs(at) < step / 2) return "0";
  const [unit, size] =
    step >= 100_000 ? (["s", 6] as const) : step >= 100 ? (["ms", 3] as const) : (["µs", 0] as const);
  const digits = Math.max(0, size - Math.floor(Math.log10(step) + 1e-9));
  return `${(at / 10 ** size).toFixed(digits)}\u00a0${unit}`;
}

export interface Box {
  isStacked: boolean;
  /** Size of the text on the canvas, px. */
  typeSize: number;
  nameWidth: number;
  /** Width of the canvas. */
  width: number;
  height: number;
  rowHeight: number;
  rowsTop: number;
  barTop: number;
  barHeight: number;
  /** Marks stand below the bars. */
  markTop: number;
  markHeight: number;
}

export const AXIS_HEIGHT = 24;
/** Below this width a lane's name is above its bars. */
const STACKED_BELOW = 480;
const NAME_WIDTH = 136;
/** From this width on, rows and type are large. */
const LARGE_FROM = 1500;
const LARGE_NAME_WIDTH = 168;

/** The measures of the box. They depend on the pointer and the width, never on the height. */
export function box(width: number, numRows: number, isCoarse: boolean): Box {
  const isStacked = width < STACKED_BELOW;
  const isLarge = width >= LARGE_FROM;
  const nameWidth = isStacked ? 0 : isLarge ? LARGE_NAME_WIDTH : NAME_WIDTH;
  const rowHeight = isCoarse ? 44 : isStacked ? 38 : isLarge ? 34 : 26;
  const barHeight = (isCoarse && !isStacked) || isLarge ? 20 : 13;
  const barTop = isStacked ? rowHeight - barHeight - 7 : Math.round((rowHeight - barHeight - 4) / 2);
  return {
    isStacked,
    typeSize: isLarge ? 13 : 11,
    nameWidth,
    width: Math.max(0, Math.floor(width) - nameWidth),
    height: AXIS_HEIGHT + numRows * rowHeight + 1,
    rowHeight,
    rowsTop: AXIS_HEIGHT,
    barTop,
    barHeight,
    markTop: barTop + barHeight + 2,
    markHeight: 3,
  };
}

/** The row at a point of the canvas; null above and below the rows. */
export function rowAt(y: number, { rowsTop, rowHeight }: Box, numRows: number): number | null {
  const row = Math.floor((y - rowsTop) / rowHeight);
  return row >= 0 && row < numRows ? row : null;
}

/** A note's place: beside its subject, and within the width. */
export function notePlace(x: number, size: number, width: number): number {
  return Math.max(0, Math.min(x + 12 + size > width ? x - 12 - size : x + 12, width - size));
}
