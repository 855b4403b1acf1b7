/** Geometry of stacked bars with a line before them. Knows no colours and no words. Pure. */
import { scaleBand, scaleLinear } from "d3-scale";
import { line, stack } from "d3-shape";

export interface Segment {
  group: number;
  y: number;
  height: number;
}

export interface Bar {
  x: number;
  width: number;
  total: number;
  /** From the bottom up; parts of nothing are left out. */
  segments: Segment[];
}

export interface Tick {
  value: number;
  y: number;
}

export interface Stacks {
  bars: Bar[];
  ticks: Tick[];
  /** Path of the line; empty: it has no point. */
  before: string;
  /** Width of a bar and the gap after it. */
  step: number;
}

const NUM_TICKS = 4;
const GAP = 0.22;

/** Lays out one series per group, with a value per part, in a box. No value is below zero. */
export function stacksOf(
  series: readonly (readonly number[])[],
  before: readonly number[],
  width: number,
  height: number,
): Stacks {
  const numParts = series[0]?.length ?? 0;
  const parts = Array.from({ length: numParts }, (_, part) => series.map((values) => values[part] ?? 0));
  const totals = parts.map((values) => values.reduce((sum, value) => sum + value, 0));
  const line_ = before.slice(0, numParts);
  const y = scaleLinear([0, Math.max(0, ...totals, ...line_) || 1], [height, 0]).nice(NUM_TICKS);
  const x = scaleBand(parts.keys(), [0, width])
    .paddingInner(GAP)
    .paddingOuter(GAP / 2);
  const stacked = stack<number[], number>()
    .keys(series.keys())
    .value((values, group) => values[group]!)(parts);
  const bars = parts.map((_, part) => ({
    x: x(part)!,
    width: x.bandwidth(),
    total: totals[part]!,
    segments: stacked.flatMap((of) => {
      const [low, high] = of[part]!;
      return high > low ? [{ group: of.key, y: y(high), height: y(low) - y(high) }] : [];
    }),
  }));
  const path = line<number>()
    .x((_, part) => x(part)! + x.bandwidth() / 2)
    .y((value) => y(value));
  const ticks = y.ticks(NUM_TICKS).map((value) => ({ value, y: y(value) }));
  return { bars, ticks, before: path([...line_]) ?? "", step: x.step() };
}

/** The parts whose name has room below the chart: every n-th, the first included. */
export function labelled(numParts: number, step: number, labelPx: number): number[] {
  const every = Math.max(1, Math.ceil(labelPx / Math.max(step, 1)));
  return Array.from({ length: numParts }, (_, part) => part).filter((part) => part % every === 0);
}
