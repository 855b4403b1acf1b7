/** Geometry of the timeline: spans to rectangles. Every input gives finite coordinates. */
import type { StageId } from "../theme/stages";
import type { Span } from "../trace/spans";

export const MIN_WIDTH = 2;

export interface Range {
  start: number;
  end: number;
}

export interface Bar {
  span: Span;
  x: number;
  width: number;
}

/** The whole of the spans, with a little air; never empty. */
export function wholeRange(spans: Span[]): Range {
  if (!spans.length) return { start: 0, end: 1000 };
  const start = Math.min(...spans.map((span) => span.start));
  const end = Math.max(...spans.map((span) => span.end));
  return { start, end: Math.max(end, start + 1000) };
}

export function toX(at: number, range: Range, width: number): number {
  return ((at - range.start) / (range.end - range.start)) * width;
}

export function toTime(x: number, range: Range, width: number): number {
  return range.start + (x / Math.max(1, width)) * (range.end - range.start);
}

/** The bars of one lane that are within the range; short ones get a minimum width. */
export function laneBars(spans: Span[], stage: StageId, range: Range, width: number): Bar[] {
  return spans
    .filter((span) => span.stage === stage && span.end >= range.start && span.start <= range.end)
    .map((span) => {
      const left = Math.max(0, toX(span.start, range, width));
      const right = Math.min(width, toX(span.end, range, width));
      const size = Math.max(MIN_WIDTH, right - left);
      return { span, x: Math.min(left, Math.max(0, width - size)), width: size };
    });
}

/** Round times for the axis, as many as the width has room for. */
export function ticks(range: Range, width: number): number[] {
  const room = Math.max(1, Math.floor(width / 90));
  const rough = (range.end - range.start) / room;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough)!;
  const first = Math.ceil(range.start / step) * step;
  const found = [];
  for (let at = first; at <= range.end && found.length < 50; at += step) found.push(at);
  return found;
}

/** Zoom about a moment; the result stays within the whole. */
export function zoom(range: Range, whole: Range, factor: number, about: number): Range {
  const size = Math.min(whole.end - whole.start, Math.max(100, (range.end - range.start) * factor));
  const share = (about - range.start) / (range.end - range.start);
  return clamp({ start: about - share * size, end: about + (1 - share) * size }, whole);
}

export function pan(range: Range, whole: Range, us: number): Range {
  return clamp({ start: range.start + us, end: range.end + us }, whole);
}

function clamp(range: Range, whole: Range): Range {
  const size = range.end - range.start;
  const start = Math.min(Math.max(range.start, whole.start), Math.max(whole.start, whole.end - size));
  return { start, end: start + size };
}
