/** Geometry of lines over the parts of a period, on a logarithmic scale: times differ by powers of ten. Pure. */
import { scaleLinear, scaleLog, scalePoint } from "d3-scale";
import { area, line } from "d3-shape";
import type { Tick } from "./stacks";

export interface Lines {
  paths: string[];
  /** Points between two gaps, which a line alone would not show: by series. */
  lone: { x: number; y: number }[][];
  xs: number[];
  y: (value: number) => number;
  ticks: Tick[];
  step: number;
}

/** A scale has at most so many lines. */
const MAX_TICKS = 6;

/** A part without a value breaks its line. */
export function linesOf(
  series: readonly (readonly (number | null)[])[],
  width: number,
  height: number,
): Lines {
  const numParts = series[0]?.length ?? 0;
  const [low, high] = rangeOf(series.flat().filter((value) => value !== null));
  const y = scaleLog([low, high], [height, 0]).clamp(true);
  const x = scalePoint(Array(numParts).keys(), [0, width]).padding(0.5);
  const path = line<number | null>()
    .defined((value) => value !== null)
    .x((_, part) => x(part)!)
    .y((value) => y(value!));
  return {
    paths: series.map((values) => path([...values]) ?? ""),
    lone: series.map((values) =>
      values.flatMap((value, part) =>
        value !== null && (values[part - 1] ?? null) === null && (values[part + 1] ?? null) === null
          ? [{ x: x(part)!, y: y(value) }]
          : [],
      ),
    ),
    xs: Array.from({ length: numParts }, (_, part) => x(part)!),
    y,
    ticks: ticksOf(low, high).map((value) => ({ value, y: y(value) })),
    step: x.step(),
  };
}

/** From a power of ten to a power of ten, around all values above zero. Zero lies at the bottom. */
function rangeOf(known: readonly number[]): [number, number] {
  const above = known.filter((value) => value > 0);
  if (!above.length) return [1, 10];
  const low = 10 ** Math.floor(Math.log10(Math.min(...above)));
  return [low, Math.max(10 ** Math.ceil(Math.log10(Math.max(...above))), low * 10)];
}

/** Powers of ten, and 2 and 5 times them where there are few. */
function ticksOf(low: number, high: number): number[] {
  const powers = Array.from(
    { length: Math.round(Math.log10(high / low)) + 1 },
    (_, power) => low * 10 ** power,
  );
  const finer = powers.flatMap((value) => [value, 2 * value, 5 * value]).filter((value) => value <= high);
  return finer.length <= MAX_TICKS ? finer : powers;
}

/** Places of labels beside the ends of lines, at least `gap` apart, in the order of their heights; the last of equal ones is on top. */
export function apart(ys: readonly number[], gap: number, height: number): number[] {
  const order = [...ys.keys()].sort((one, other) => ys[one]! - ys[other]! || other - one);
  const placed = [...ys];
  order.forEach((index, rank) => {
    const above = rank ? placed[order[rank - 1]!]! + gap : 0;
    placed[index] = Math.max(placed[index]!, above);
  });
  // What was pushed below the chart goes up again.
  order.reverse().forEach((index, rank) => {
    const below = rank ? placed[order[rank - 1]!]! - gap : height;
    placed[index] = Math.min(placed[index]!, below);
  });
  return placed;
}

/** A small line without axes, and the ground below it. */
export function sparkOf(
  values: readonly (number | null)[],
  width: number,
  height: number,
): { line: string; ground: string } {
  const known = values.filter((value) => value !== null);
  const x = scaleLinear([0, Math.max(1, values.length - 1)], [1, width - 1]);
  const y = scaleLinear([0, Math.max(0, ...known) || 1], [height - 1, 1]);
  const isKnown = (value: number | null) => value !== null;
  const path = line<number | null>()
    .defined(isKnown)
    .x((_, part) => x(part))
    .y((value) => y(value!));
  const ground = area<number | null>()
    .defined(isKnown)
    .x((_, part) => x(part))
    .y0(height)
    .y1((value) => y(value!));
  return { line: path([...values]) ?? "", ground: ground([...values]) ?? "" };
}

export interface Area {
  line: string;
  ground: string;
  /** Points between two gaps. */
  lone: { x: number; y: number }[];
  xs: number[];
  /** null: the value is not known. */
  ys: (number | null)[];
  ticks: Tick[];
  step: number;
}

/** One line from zero up, over a box, with the ground below it. A part without a value breaks it.
 *  least: the scale reaches at least so far, so that small values look small. */
export function areaOf(
  values: readonly (number | null)[],
  width: number,
  height: number,
  least: number,
): Area {
  const known = values.filter((value) => value !== null);
  const y = scaleLinear([0, Math.max(least, ...known)], [height, 0]).nice(2);
  const x = scalePoint(Array(values.length).keys(), [0, width]).padding(0.5);
  const isKnown = (value: number | null) => value !== null;
  const path = line<number | null>()
    .defined(isKnown)
    .x((_, part) => x(part)!)
    .y((value) => y(value!));
  const ground = area<number | null>()
    .defined(isKnown)
    .x((_, part) => x(part)!)
    .y0(height)
    .y1((value) => y(value!));
  const xs = values.map((_, part) => x(part)!);
  const ys = values.map((value) => (value === null ? null : y(value)));
  return {
    line: path([...values]) ?? "",
    ground: ground([...values]) ?? "",
    lone: ys.flatMap((at, part) =>
      at !== null && (ys[part - 1] ?? null) === null && (ys[part + 1] ?? null) === null
        ? [{ x: xs[part]!, y: at }]
        : [],
    ),
    xs,
    ys,
    ticks: y.ticks(2).map((value) => ({ value, y: y(value) })),
    step: x.step(),
  };
}
