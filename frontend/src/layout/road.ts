/**
 * Several answers to one message as roads: their common part is one broad road, which forks where they differ.
 *
 * Knows the sizes of letters only roughly, and nothing of drawing.
 */
import { joinedLabels } from "../trace/bytes";
import type { RunAnswer } from "../trace/compare/runs";
import { answerFlow, type Band, type Flow } from "./answer-flow";

/** A stretch of tokens that its answers share, as a box with its words. CSS pixels. */
export interface Road {
  key: string;
  band: Band;
  x: number;
  y: number;
  width: number;
  height: number;
  /** Type size. */
  size: number;
  numLines: number;
  /** Its text, shortened in the middle where it does not fit. */
  words: string;
  /** True when no road follows it. */
  isLast: boolean;
  /** True when each fork on the way here is left by its most frequent road. */
  isMain: boolean;
}

/** The shape that joins a road to the next one. */
export interface Bend {
  key: string;
  /** SVG path: the outline to fill or, with a thickness, the line to draw. */
  path: string;
  thickness: number | null;
  /** Share of all answers, 0 to 1. */
  share: number;
  to: Road;
}

export interface RoadMap {
  roads: Road[];
  bends: Bend[];
  width: number;
  height: number;
  numAnswers: number;
}

/** Below this width the roads lead down the page, else from left to right. */
export const NARROW = 640;

/** Average width of a letter, and height of a line, in type sizes. */
const [LETTER, LINE] = [0.56, 1.32];
/** Width of a letter in a word that must not break. */
const WIDE = 0.64;
const SIZE = 13;
const MOST_SIZE = 26;
const PAD = 8;

/** `height`: the room to fill; the map may take more. */
export function roadMap(answers: RunAnswer[], width: number, height: number): RoadMap {
  const flow = answerFlow(answers);
  const map = width < NARROW ? downwards(flow, width) : rightwards(flow, width, height);
  return { ...map, width, numAnswers: answers.length };
}

const keyOf = ({ answers, start }: Band) => `${answers[0]!.index}-${start}`;
const childrenOf = ({ bands }: Flow, band: Band | null) =>
  bands.filter(({ parent }) => parent === (band?.key ?? null));

/** Bands on the main way: at each fork, the most frequent band; of equal ones the first. */
function mainBands(flow: Flow): Set<Band> {
  const found = new Set<Band>();
  for (let at: Band | undefined = childrenOf(flow, null)[0]; at && at.rows > 1; at = childrenOf(flow, at)[0])
    found.add(at);
  return found;
}

/** The beginning and the end of a text, at most `most` letters in all. */
export function shortened(text: string, most: number): string {
  const letters = [...text];
  if (letters.length <= most) return text;
  const numShown = Math.max(2, most - 3);
  const head = Math.ceil(numShown / 2);
  return `${letters.slice(0, head).join("")} … ${letters.slice(letters.length - (numShown - head)).join("")}`;
}

/** The text of the pieces, with spaces as they are read and a sign for line ends, which a small box has no room for. */
export const roadWords = (pieces: string[]) =>
  joinedLabels(pieces).replaceAll("·", " ").replaceAll(/[↵⇥]+/g, " ⏎ ").trim();

type Placed = Pick<RoadMap, "roads" | "bends" | "height">;

// From left to right

const [LEAST_ROW, MOST_ROW] = [30, 58];
const GAP = 10;
const SOURCE = 12;

/** Lay out the roads from left to right. A road is as high as its answers' rows, and as wide as its words need. */
function rightwards(flow: Flow, width: number, height: number): Placed {
  const { bands, numRows } = flow;
  const row = clamp((height - GAP * (numRows - 1)) / Math.max(1, numRows), LEAST_ROW, MOST_ROW);
  const depths = depthsOf(bands);
  const deepest = Math.max(0, ...depths);
  const bend = clamp((0.3 * width) / (deepest + 1), 16, 44);
  const wanted = bands.map((band) => wantedWidth(band, row, width));
  const scale = scaleOf(flow, wanted, { bend, room: width - SOURCE, leastLast: 0.3 * width });
  const main = mainBands(flow);
  const tops = topsOf(flow, row);
  const roads: Road[] = [];
  for (const band of bands) {
    const before = band.parent === null ? null : roads[band.parent]!;
    const x = (before ? before.x + before.width : SOURCE) + bend;
    const isLast = !childrenOf(flow, band).length;
    const roadWidth = isLast ? width - x : wanted[band.key]! * scale;
    const box = { x, y: tops[band.key]!, width: roadWidth, height: band.rows * row };
    roads.push({
      key: keyOf(band),
      band,
      ...box,
      ...wordsIn(band, box, isLast),
      isLast,
      isMain: main.has(band),
    });
  }
  const total = numRows * row + GAP * Math.max(0, numRows - 1);
  return { roads, bends: bendsRight(flow, roads, row, total), height: total };
}

function depthsOf(bands: Band[]): number[] {
  const depths: number[] = [];
  for (const { parent } of bands) depths.push(parent === null ? 0 : depths[parent]! + 1);
  return depths;
}

const sizeOf = (rows: number) => Math.min(MOST_SIZE, SIZE + (rows - 1) * 1.7);

function linesIn(height: number, size: number): number {
  return Math.max(1, Math.floor((height - 4) / (size * LINE)));
}

/** Width at which the words fill the lines that the rows have room for, if possible with no word broken. */
function wantedWidth(band: Band, row: number, width: number): number {
  const words = roadWords(band.pieces);
  const size = sizeOf(band.rows);
  const perLine = Math.ceil((words.length / linesIn(band.rows * row, size)) * 1.2);
  const longest = Math.max(0, ...words.split(/\s+/).map(({ length }) => Math.min(length, 15)));
  return clamp(Math.max(perLine * LETTER, longest * WIDE) * size + 2 * PAD, 2 * PAD + size, 0.34 * width);
}

/** The factor that narrows the roads that fork, so that each last road has its least width. */
function scaleOf(
  { bands }: Flow,
  wanted: number[],
  { bend, room, leastLast }: { bend: number; room: number; leastLast: number },
): number {
  let scale = 1;
  for (const band of bands) {
    let [sum, numBends] = [0, 1];
    for (let at = band.parent; at !== null; at = bands[at]!.parent) {
      sum += wanted[at]!;
      numBends++;
    }
    if (sum) scale = Math.min(scale, (room - numBends * bend - leastLast) / sum);
  }
  return Math.max(0.05, scale);
}

/** Last roads are one below the other. Any other road is at the middle of those that follow it. */
function topsOf(flow: Flow, row: number): number[] {
  const { bands } = flow;
  const tops: number[] = bands.map(({ top }) => top * (row + GAP));
  const middles: number[] = [];
  for (const band of [...bands].reverse()) {
    const children = childrenOf(flow, band);
    const spans = children.map(({ key }) => middles[key]!);
    // Answers that end in this road have a row below the others.
    const ends =
      band.numEnding && children.length ? (band.top + band.rows - band.numEnding / 2) * (row + GAP) : null;
    const all = ends === null ? spans : [...spans, ends - GAP / 2];
    const own = band.top * (row + GAP) + (band.rows * (row + GAP) - GAP) / 2;
    middles[band.key] = all.length ? (Math.min(...all) + Math.max(...all)) / 2 : own;
    const bottom = (band.top + band.rows) * (row + GAP) - GAP - band.rows * row;
    tops[band.key] = clamp(middles[band.key]! - (band.rows * row) / 2, band.top * (row + GAP), bottom);
  }
  return tops;
}

function wordsIn(
  band: Band,
  { width, height }: { width: number; height: number },
  isLast: boolean,
): Pick<Road, "size" | "numLines" | "words"> {
  const size = sizeOf(band.rows);
  const numLines = linesIn(height, size);
  const words = roadWords(band.pieces);
  const most = Math.floor((width - 2 * PAD) / (size * LETTER)) * numLines;
  return { size, numLines, words: isLast ? words : shortened(words, Math.max(5, most)) };
}

function bendsRight({ bands, numRows }: Flow, roads: Road[], row: number, total: number): Bend[] {
  const taken = new Map<number | null, number>();
  return bands.map((band) => {
    const from = band.parent === null ? null : roads[band.parent]!;
    const to = roads[band.key]!;
    const above = taken.get(band.parent) ?? 0;
    taken.set(band.parent, above + band.rows);
    const x = from ? from.x + from.width : SOURCE;
    const y = from ? from.y + above * row : (total - numRows * row) / 2 + above * row;
    const path = ribbon([x, y, y + band.rows * row], [to.x, to.y, to.y + to.height]);
    return { key: to.key, path, thickness: null, share: band.rows / numRows, to };
  });
}

/** The outline between two upright edges (x, top, bottom). */
function ribbon([x1, top1, bottom1]: Edge, [x2, top2, bottom2]: Edge): string {
  const half = (x1 + x2) / 2;
  return [
    `M${px(x1)} ${px(top1)}C${px(half)} ${px(top1)} ${px(half)} ${px(top2)} ${px(x2)} ${px(top2)}`,
    `L${px(x2)} ${px(bottom2)}C${px(half)} ${px(bottom2)} ${px(half)} ${px(bottom1)} ${px(x1)} ${px(bottom1)}Z`,
  ].join("");
}
type Edge = [x: number, top: number, bottom: number];

// Down the page

const INDENT = 16;
const MOST_INDENTED = 6;
/** Most lines of a road that forks, and of a last road. */
const [LINES_SHARED, LINES_LAST] = [5, 3];

function downwards(flow: Flow, width: number): Placed {
  const depths = depthsOf(flow.bands);
  const main = mainBands(flow);
  let y = SOURCE;
  const roads = flow.bands.map((band): Road => {
    const x = INDENT * Math.min(MOST_INDENTED, depths[band.key]!) + INDENT;
    const isLast = !childrenOf(flow, band).length;
    const size = Math.min(19, sizeOf(band.rows));
    const perLine = Math.max(6, Math.floor((width - x - 2 * PAD) / (size * LETTER)));
    const words = roadWords(band.pieces);
    const needed = Math.ceil((words.length * 1.1) / perLine);
    const numLines = clamp(needed, 1, isLast ? LINES_LAST : LINES_SHARED);
    const box = { x, y, width: width - x, height: Math.ceil(numLines * size * LINE) + 12 };
    y += box.height + GAP;
    const shown = isLast ? words : shortened(words, perLine * numLines);
    return { key: keyOf(band), band, ...box, size, numLines, words: shown, isLast, isMain: main.has(band) };
  });
  return { roads, bends: bendsDown(flow, roads), height: Math.max(0, y - GAP) };
}

function bendsDown({ bands, numRows }: Flow, roads: Road[]): Bend[] {
  return bands.map((band) => {
    const to = roads[band.key]!;
    const from = band.parent === null ? null : roads[band.parent]!;
    const x = to.x - INDENT / 2;
    const start = from ? from.y + from.height : 0;
    const path = `M${px(x)} ${px(start)}V${px(to.y + 8)}Q${px(x)} ${px(to.y + 16)} ${px(to.x)} ${px(to.y + 16)}`;
    return {
      key: to.key,
      path,
      thickness: 2 + (10 * band.rows) / numRows,
      share: band.rows / numRows,
      to,
    };
  });
}

const clamp = (value: number, least: number, most: number) =>
  Math.min(Math.max(value, least), Math.max(least, most));
const px = (value: number) => String(Math.round(value * 10) / 10);
