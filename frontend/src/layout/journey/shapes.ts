/** The shapes of the journey's pictures. Knows sizes and the names of colours, neither SVG nor the theme. */
import type { StageId } from "../../trace/stages";

/** A colour by its meaning: one of the theme, a stage's hue, strong or pale, or a step of the quantity ramp. */
export type Ink =
  | "ink"
  | "soft"
  | "faint"
  | "line"
  | "wash"
  | "paper"
  | "accent"
  | "danger"
  /** Readable on every stage's hue, in both themes. */
  | "on-hue"
  | `step-${1 | 2 | 3 | 4 | 5}`
  | StageId
  | `${StageId}-pale`;

export interface BoxShape {
  kind: "box";
  /** The same shape in the next picture has the same key. */
  key: string;
  x: number;
  y: number;
  width: number;
  height: number;
  fill?: Ink;
  stroke?: Ink;
  isDashed?: boolean;
  isHatched?: boolean;
  radius?: number;
  opacity?: number;
}

export interface TextShape {
  kind: "text";
  key: string;
  x: number;
  /** The y of the baseline. */
  y: number;
  text: string;
  size: number;
  ink: Ink;
  font?: "mono";
  anchor?: "middle" | "end";
  isBold?: boolean;
  isStruck?: boolean;
  opacity?: number;
}

export interface LineShape {
  kind: "line";
  key: string;
  x1: number;
  y1: number;
  x2: number;
  y2: number;
  ink: Ink;
  width?: number;
  isDashed?: boolean;
  opacity?: number;
}

export type Shape = BoxShape | TextShape | LineShape;

export interface Area {
  x: number;
  y: number;
  width: number;
  height: number;
}

export const box = (key: string, area: Area, rest: Partial<BoxShape> = {}): BoxShape => ({
  kind: "box",
  key,
  x: area.x,
  y: area.y,
  width: Math.max(0, area.width),
  height: Math.max(0, area.height),
  ...rest,
});

export const text = (
  key: string,
  x: number,
  y: number,
  words: string,
  rest: Partial<TextShape> = {},
): TextShape => ({ kind: "text", key, x, y, text: words, size: 12, ink: "ink", ...rest });

export const line = (
  key: string,
  [x1, y1, x2, y2]: [number, number, number, number],
  rest: Partial<LineShape> = {},
): LineShape => ({ kind: "line", key, x1, y1, x2, y2, ink: "line", ...rest });

/** The shapes, moved and faded together. */
export function shifted(shapes: Shape[], dx: number, dy: number, opacity = 1): Shape[] {
  return shapes.map((shape) => {
    const faded = (shape.opacity ?? 1) * opacity;
    if (shape.kind !== "line") return { ...shape, x: shape.x + dx, y: shape.y + dy, opacity: faded };
    const { x1, y1, x2, y2 } = shape;
    return { ...shape, x1: x1 + dx, y1: y1 + dy, x2: x2 + dx, y2: y2 + dy, opacity: faded };
  });
}

export const mix = (from: number, to: number, share: number): number => from + (to - from) * share;

/** Progress, 0 to 1, of the part of a beat between two shares of it. It slows down at its end. */
export function part(beat: number, from: number, to: number): number {
  const share = Math.min(1, Math.max(0, (beat - from) / (to - from)));
  return 1 - (1 - share) ** 3;
}

/** Progress of one of several overlapping parts of a beat, which begin one after the other. */
export function turn(beat: number, index: number, num: number): number {
  const length = Math.max(0.25, 1 / Math.max(1, num));
  const start = num > 1 ? (index / (num - 1)) * (1 - length) : 0;
  return part(beat, start, start + length);
}
