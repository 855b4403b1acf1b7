/** Several timelines on one axis: a row for each stage, with a lane for each request in it. Draws nothing. */
import { STAGES, type StageId } from "../trace/stages";
import type { TraceView } from "../trace/view";
import type { Laid, Lane } from "./lanes";
import type { Range, Scale } from "./timeline";

/** The event at the zero of the axis. */
export type Zero = "accepted" | "first token";

/** The time of the zero event by the request's own clock; null: it has not happened. */
export function zeroOf(view: TraceView, zero: Zero): number | null {
  return zero === "accepted" ? 0 : (view.tokens[0]?.at ?? null);
}

/** The scale for one request's own clock, with its time `by` at the common zero. */
export function shifted(on: Scale, by: number): Scale {
  return {
    ...on,
    start: on.start + by,
    end: on.end + by,
    toX: (time) => on.toX(time - by),
    toTime: (x) => on.toTime(x) + by,
  };
}

/** The range that holds all ranges, relative to the common zero; never empty. */
export function alignedRange(ranges: Range[], zeros: number[]): Range {
  if (!ranges.length) return { start: 0, end: 1000 };
  const start = Math.min(...ranges.map((range, index) => range.start - zeros[index]!));
  const end = Math.max(...ranges.map((range, index) => range.end - zeros[index]!));
  return { start, end: Math.max(end, start + 1000) };
}

export const BAR = 9;
const BAR_GAP = 3;
const ROW_PAD = 6;

export interface AlignedRow {
  stage: StageId;
  label: string;
  top: number;
  height: number;
  /** The stage's lane in each request, in the order of the requests. */
  lanes: Lane[];
}

/** A row for each stage in which any request has a span, from the top down. */
export function alignedRows(laid: Laid[], top: number): AlignedRow[] {
  const rows: AlignedRow[] = [];
  const height = 2 * ROW_PAD + laid.length * BAR + (laid.length - 1) * BAR_GAP;
  for (const { id, label } of STAGES) {
    const lanes = laid.map(({ lanes: all }) => all.find((lane) => lane.id === id)!);
    if (!lanes.some(({ stage, bars, marks }) => stage.spans.length + bars.spans.length + marks.spans.length))
      continue;
    rows.push({ stage: id, label, top, height, lanes });
    top += height;
  }
  return rows;
}

export function barTop(row: AlignedRow, index: number): number {
  return row.top + ROW_PAD + index * (BAR + BAR_GAP);
}

/** The row and the request at a height; null above and below. */
export function placeAt(rows: AlignedRow[], y: number): { row: AlignedRow; index: number } | null {
  const row = rows.find(({ top, height }) => y >= top && y < top + height);
  if (!row) return null;
  const index = Math.floor((y - row.top - ROW_PAD + BAR_GAP / 2) / (BAR + BAR_GAP));
  return { row, index: Math.max(0, Math.min(row.lanes.length - 1, index)) };
}
