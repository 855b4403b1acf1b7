/** The prompt's text as it is cut into tokens: a cut sweeps through it, and each piece gets its id. */
import { pieceLabel, REDACTED_PIECE } from "../../trace/bytes";
import { count, counted } from "../../trace/format";
import { readingOf, type Reading } from "../../trace/context/reading";
import type { TraceView } from "../../trace/view";
import { box, line, mix, part, text, type Area, type Shape } from "./shapes";
import { fitted, monoWidth, sansWidth } from "./words";

/** Type sizes: the largest in which all tokens have room is taken. In the last, some may have none. */
const SIZES = [22, 18, 15];
const TOP = 28;

/** Measures that grow with the size of the type. */
interface Type {
  size: number;
  idSize: number;
  pad: number;
  gap: number;
  row: number;
  chip: number;
}

const typeOf = (size: number): Type => ({
  size,
  idSize: Math.max(11, size * 0.55),
  pad: size / 3,
  gap: size / 4,
  row: size * 3.1,
  chip: size * 1.6,
});

interface Chip {
  index: number;
  label: string;
  /** Empty where it is redacted. */
  id: string;
  isSpecial: boolean;
  /** True for a token of the answer that a fork goes on from. */
  isKept: boolean;
  row: number;
  /** Its place in its row. */
  x: number;
  width: number;
}

export function tokenShapes(view: TraceView, area: Area, beat: number): Shape[] {
  const prompt = readingOf(view);
  if (!prompt) return [];
  const room = { ...area, y: area.y + TOP, height: area.height - TOP };
  const { type, chips } = fill(prompt, room);
  const isNow = view.events.at(-1)?.event.type === "prompt.tokenized";
  const cut = (isNow ? part(beat, 0.05, 0.95) : 1) * (chips.length + 2);
  const shown = chips.map((_, order) => Math.min(1, Math.max(0, (cut - order) / 2)));
  const placed = placedNow(chips, shown, type);
  const before = chips.length < prompt.ids.length ? `the last ${count(chips.length)} of ` : "";
  const what = view.forked ? "The prompt and the answer so far" : "The prompt";
  const said = `${what}, ${before}${counted(prompt.ids.length, "token")}; below each its id`;
  return [
    text("said", area.x, area.y + 12, fitted(said, area.width, 12, sansWidth), { ink: "soft" }),
    ...placed.flatMap((chip, order) => chipShapes(chip, type, room, shown[order]!)),
    ...cutShapes(placed, type, room, cut),
  ];
}

/** All tokens; of too many, the last. */
function fill(prompt: Reading, room: Area): { type: Type; chips: Chip[] } {
  const num = prompt.ids.length;
  const types = SIZES.map(typeOf);
  for (const type of types) {
    const isHopeless = num * (type.size + type.gap) > (room.width * room.height) / type.row;
    const chips = isHopeless ? [] : chipsFrom(prompt, 0, type, room);
    if (chips.length === num) return { type, chips };
  }
  const type = types.at(-1)!;
  return { type, chips: chipsFrom(prompt, firstShown(prompt, type, room), type, room) };
}

function chipOf({ pieces, ids }: Reading, index: number, type: Type, room: number) {
  const id = pieces[index] === REDACTED_PIECE ? "" : String(ids[index]);
  const label = fitted(pieceLabel(pieces[index] ?? "") || id, room - 2 * type.pad, type.size);
  return {
    id,
    label,
    width: Math.max(monoWidth(label, type.size), monoWidth(id, type.idSize)) + 2 * type.pad,
  };
}

const numRowsIn = ({ height }: Area, { row }: Type): number => Math.max(1, Math.floor(height / row));

/** Index of the first token to show so that it and all later ones have room. Rows are filled from the end for this. */
function firstShown(prompt: Reading, type: Type, room: Area): number {
  const numRows = Math.max(1, numRowsIn(room, type) - 1);
  let first = prompt.ids.length;
  let [row, used] = [0, 0];
  while (first > 0) {
    const needed = chipOf(prompt, first - 1, type, room.width).width + type.gap;
    if (used + needed > room.width) [row, used] = [row + 1, 0];
    if (row >= numRows) break;
    used += needed;
    first--;
  }
  return Math.min(first, Math.max(0, prompt.ids.length - 1));
}

function chipsFrom(prompt: Reading, first: number, type: Type, room: Area): Chip[] {
  const special = new Set(prompt.special);
  const numRows = numRowsIn(room, type);
  const chips: Chip[] = [];
  let [row, x] = [0, 0];
  for (let index = first; index < prompt.ids.length; index++) {
    const made = chipOf(prompt, index, type, room.width);
    if (x > 0 && x + made.width > room.width) [row, x] = [row + 1, 0];
    if (row >= numRows) break;
    chips.push({
      ...made,
      index,
      isSpecial: special.has(index),
      isKept: index >= prompt.numPrompt,
      row,
      x,
    });
    x += made.width + type.gap;
  }
  return chips;
}

/** The pieces of a row that are not cut yet: together as text, after the cut ones. */
function placedNow(chips: Chip[], shown: number[], { size, gap }: Type): Chip[] {
  let [row, x] = [-1, 0];
  return chips.map((chip, order) => {
    if (chip.row !== row) [row, x] = [chip.row, 0];
    const placed = { ...chip, x };
    x += mix(monoWidth(chip.label, size), chip.width + gap, shown[order]!);
    return placed;
  });
}

function chipShapes(chip: Chip, type: Type, area: Area, shown: number): Shape[] {
  const { index, label, id, isSpecial, isKept, row, width } = chip;
  const { size, idSize, pad } = type;
  const x = area.x + chip.x;
  const y = area.y + row * type.row;
  const ground = isSpecial
    ? ({ stroke: "faint" } as const)
    : ({ fill: isKept ? "sampling-pale" : index % 2 ? "tokens-pale" : "wash" } as const);
  return [
    box(`chip-${index}`, { x, y, width, height: type.chip }, { ...ground, opacity: shown, radius: 3 }),
    text(`piece-${index}`, x + mix(0, pad, shown), y + size * 1.13, label, {
      font: "mono",
      size,
      ink: isSpecial ? "soft" : "ink",
    }),
    text(`id-${index}`, x + width / 2, y + type.chip + idSize * 1.25, id, {
      font: "mono",
      size: idSize,
      ink: "faint",
      anchor: "middle",
      opacity: shown,
    }),
  ];
}

/** The shapes of the cut. */
function cutShapes(chips: Chip[], type: Type, area: Area, cut: number): Shape[] {
  const chip = chips[Math.floor(cut)];
  if (!chip || cut <= 0) return [];
  const x = area.x + chip.x - type.gap / 2;
  const y = area.y + chip.row * type.row;
  return [line("cut", [x, y - 5, x, y + type.chip + 5], { ink: "accent", width: 2 })];
}
