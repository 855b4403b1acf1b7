/** The prompt laid out like text, in rows of whole blocks. Gives the place of any range of its tokens. */
import type { Area } from "./shapes";

export interface Ribbon {
  numTokens: number;
  blockSize: number;
  perRow: number;
  numRows: number;
  tokenWidth: number;
  rowHeight: number;
  area: Area;
}

const MOST_BLOCK = 240;
const MOST_ROW = 132;
const LEAST_ROW = 8;
const ROW_GAP = 4;
const LEAST_BLOCK = 2;

/** Lay out a prompt with the widest blocks that all have room. */
export function ribbon(numTokens: number, blockSize: number, area: Area): Ribbon {
  const num = Math.max(1, Math.ceil(numTokens / blockSize));
  const heightOf = (perRow: number) =>
    Math.min(MOST_ROW, Math.max(LEAST_ROW, (area.width / perRow) * 0.55)) + ROW_GAP;
  const hasRoom = (perRow: number) => Math.ceil(num / perRow) * heightOf(perRow) <= area.height;
  const most = Math.max(1, Math.floor(area.width / LEAST_BLOCK));
  let perRow = Math.max(1, Math.ceil(area.width / MOST_BLOCK));
  while (perRow < most && !hasRoom(perRow)) perRow++;
  const numRows = Math.ceil(num / perRow);
  return {
    numTokens,
    blockSize,
    perRow: perRow * blockSize,
    numRows,
    tokenWidth: area.width / perRow / blockSize,
    rowHeight: Math.min(heightOf(perRow), area.height / numRows),
    area,
  };
}

/** One rectangle for each row that the range of tokens touches. */
export function places(on: Ribbon, start: number, end: number): Area[] {
  const found: Area[] = [];
  const last = Math.min(end, on.numTokens);
  for (let at = Math.max(0, start); at < last;) {
    const row = Math.floor(at / on.perRow);
    const to = Math.min(last, (row + 1) * on.perRow);
    found.push({
      x: on.area.x + (at - row * on.perRow) * on.tokenWidth,
      y: on.area.y + row * on.rowHeight,
      width: (to - at) * on.tokenWidth,
      height: Math.max(1, on.rowHeight - Math.min(ROW_GAP, on.rowHeight * 0.3)),
    });
    at = to;
  }
  return found;
}

/** The place at which the part before a position ends; null: there is none. */
export function front(on: Ribbon, position: number): Area | null {
  const place = places(on, Math.max(0, Math.ceil(position) - 1), Math.ceil(position))[0];
  return place ? { ...place, x: place.x + place.width, width: 0 } : null;
}
