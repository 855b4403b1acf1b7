/** Columns of stacked parts, one for each turn of a conversation, on a scale from nothing up. Knows no colours. */

export interface Stack {
  /** From the bottom up; null: not known, and nothing is drawn. */
  parts: { name: string; value: number }[] | null;
}

export interface Placed {
  x: number;
  width: number;
  /** From the top of the chart, in px; parts of nothing are left out. */
  parts: { name: string; y: number; height: number }[];
  isKnown: boolean;
}

export interface Scale {
  top: number;
  /** Values at which a line is drawn, the top included. */
  ticks: number[];
}

export const MAX_COLUMN_PX = 44;
export const MIN_PITCH_PX = 14;
const GAP_SHARE = 0.3;

/** Least width of a chart; it scrolls where there is less room. */
export function minWidth(numTurns: number): number {
  return numTurns * MIN_PITCH_PX;
}

export function columns(stacks: readonly Stack[], scale: Scale, width: number, height: number): Placed[] {
  const pitch = Math.min(width / Math.max(1, stacks.length), MAX_COLUMN_PX / (1 - GAP_SHARE));
  return stacks.map(({ parts }, index) => ({
    x: index * pitch + (pitch * GAP_SHARE) / 2,
    width: pitch * (1 - GAP_SHARE),
    parts: stacked(parts ?? [], scale.top, height),
    isKnown: parts !== null,
  }));
}

function stacked(parts: { name: string; value: number }[], top: number, height: number): Placed["parts"] {
  const placed: Placed["parts"] = [];
  let below = 0;
  for (const { name, value } of parts) {
    if (value <= 0) continue;
    const size = (value / top) * height;
    placed.push({ name, y: height - below - size, height: size });
    below += size;
  }
  return placed;
}

/** A scale from 0 to the least number that no total exceeds among 1, 2 and 5 times the powers of ten. */
export function scaleOf(totals: readonly number[]): Scale {
  const most = Math.max(0, ...totals);
  if (most === 0) return { top: 1, ticks: [0] };
  const power = 10 ** Math.floor(Math.log10(most));
  const top = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= most) ?? 10 * power;
  return { top, ticks: [0, top / 2, top] };
}
