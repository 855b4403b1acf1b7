/** Tokens written in lines, each below a bar as high as its surprise. Knows the width of the mono font's letters. */
import { box, line, text, type Area, type Ink, type Shape } from "./journey/shapes";

export interface WrittenToken {
  /** Its shown text; a line end breaks the line. */
  label: string;
  /** Surprise, -log2 of its chance; null: not reported. */
  bits: number | null;
  isMarked?: boolean;
}

export interface TokenLines {
  shapes: Shape[];
  /** Number of all lines, also of those above the area. */
  numLines: number;
}

/** Width of a letter of JetBrains Mono over its size. */
const LETTER = 0.6;
const GAP = 2;
/** Bits of the highest bar, one chance in 1,024; more are drawn as these. */
export const MOST_BITS = 10;
const LINE_END = "↵";

interface Placed {
  token: WrittenToken;
  index: number;
  row: number;
  x: number;
  width: number;
}

/** Lay tokens out. Of more lines than fit, the last are shown. size: type size in CSS pixels. */
export function tokenLines(tokens: WrittenToken[], area: Area, size = 14): TokenLines {
  const bar = size * 1.5;
  const lineHeight = bar + size * 1.5;
  const placed = placeTokens(tokens, area.width, size);
  const numLines = (placed.at(-1)?.row ?? 0) + 1;
  const first = Math.max(0, numLines - Math.max(1, Math.floor(area.height / lineHeight)));
  const shapes = placed
    .filter(({ row }) => row >= first)
    .flatMap((each) => tokenShapes(each, { area, size, bar, y: area.y + (each.row - first) * lineHeight }));
  return { shapes, numLines };
}

function placeTokens(tokens: WrittenToken[], width: number, size: number): Placed[] {
  const placed: Placed[] = [];
  let [row, x] = [0, 0];
  tokens.forEach((token, index) => {
    const letters = [...token.label].length || 1;
    const own = Math.min(width, letters * size * LETTER + GAP);
    if (x > 0 && x + own > width) [row, x] = [row + 1, 0];
    placed.push({ token, index, row, x, width: own });
    x += own;
    // Several line ends in a row show as one.
    if (token.label.includes(LINE_END) && x > own) [row, x] = [row + 1, 0];
  });
  return placed;
}

function tokenShapes(
  { token, index, x, width }: Placed,
  { area, size, bar, y }: { area: Area; size: number; bar: number; y: number },
): Shape[] {
  const left = area.x + x;
  const shapes: Shape[] = [];
  if (token.bits === null)
    shapes.push(line(`bar-${index}`, [left, y + bar, left + width - GAP, y + bar], { isDashed: true }));
  else {
    const height = Math.max(1.5, (Math.min(MOST_BITS, token.bits) / MOST_BITS) * bar);
    const at = { x: left, y: y + bar - height, width: width - GAP, height };
    shapes.push(box(`bar-${index}`, at, { fill: inkOf(token.bits), radius: 1 }));
  }
  if (token.isMarked) {
    const at = { x: left - 1, y: y + bar + 3, width, height: size * 1.35 };
    shapes.push(box(`mark-${index}`, at, { fill: "accent", radius: 3, opacity: 0.28 }));
  }
  const words = token.label.replaceAll("·", " ").replaceAll(LINE_END, "⏎");
  shapes.push(
    text(`word-${index}`, left, y + bar + size * 1.15, words, {
      size,
      font: "mono",
      ...(token.isMarked && { isBold: true }),
    }),
  );
  return shapes;
}

function inkOf(bits: number): Ink {
  if (bits < 0.5) return "step-1";
  if (bits < 2) return "step-2";
  return bits < 4 ? "step-3" : "step-4";
}
