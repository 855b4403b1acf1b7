/** A receipt's lines placed on a strip of paper, as shapes. Knows how wide a letter of the typewriter's face is. */
import { box, line, text, type Shape } from "../../layout/journey/shapes";
import type { Receipt, Section } from "./receipt";

export interface Slip {
  shapes: Shape[];
  /** CSS pixels. */
  width: number;
  height: number;
}

export const WIDTH = 420;
const MARGIN = 32;
/** The teeth of the tear at both ends. */
export const TOOTH = 10;
const SIZE = 13;
const SMALL = 11.5;
/** Width of a letter of JetBrains Mono over its size. */
export const LETTER = 0.6;
const LINE = 19;
const INNER = WIDTH - 2 * MARGIN;
const [LINES_QUESTION, LINES_ANSWER] = [5, 6];
const BARCODE = 44;

/** Places one thing below the other. */
class Roll {
  readonly shapes: Shape[] = [];
  y = TOOTH + 34;

  words(
    words: string,
    rest: { size?: number; isBold?: boolean; isSoft?: boolean; isCentred?: boolean } = {},
  ) {
    const { size = SIZE, isBold, isSoft, isCentred } = rest;
    const x = isCentred ? WIDTH / 2 : MARGIN;
    this.shapes.push(
      text(this.key(), x, this.y, words, {
        size,
        font: "mono",
        ink: isSoft ? "soft" : "ink",
        ...(isBold && { isBold }),
        ...(isCentred && { anchor: "middle" }),
      }),
    );
    this.y += Math.max(LINE, size * 1.35);
  }

  pair(name: string, figure: string, { isSmall = false, isTotal = false }) {
    const size = isSmall ? SMALL : SIZE;
    const x = MARGIN + (isSmall ? 14 : 0);
    const room = INNER - (x - MARGIN) - figure.length * size * LETTER - 10;
    const shown = cut(name, Math.max(3, Math.floor(room / (size * LETTER))));
    const rest = { size, font: "mono", ink: isSmall ? "soft" : "ink", isBold: isTotal } as const;
    if (isTotal) this.y += 3;
    this.shapes.push(
      text(this.key(), x, this.y, shown, rest),
      text(this.key(), WIDTH - MARGIN, this.y, figure, { ...rest, anchor: "end" }),
    );
    this.y += LINE;
  }

  rule() {
    this.y += 4;
    const at = this.y - LINE / 2;
    this.shapes.push(line(this.key(), [MARGIN, at, WIDTH - MARGIN, at], { ink: "soft", isDashed: true }));
    this.y += 12;
  }

  space(px: number) {
    this.y += px;
  }

  /** A bar for each value, wider and darker the larger it is; as wide as the slip together. */
  barcode(values: (number | null)[]) {
    const weights = values.map((value) => 0.35 + Math.min(12, value ?? 0));
    const unit = INNER / (weights.reduce((sum, each) => sum + each, 0) || 1);
    let x = MARGIN;
    weights.forEach((weight, index) => {
      const width = weight * unit;
      const area = {
        x,
        y: this.y - 12,
        width: Math.max(0.6, width - Math.min(3, width * 0.4)),
        height: BARCODE,
      };
      this.shapes.push(box(this.key(), area, { fill: values[index] === null ? "soft" : "ink" }));
      x += width;
    });
    this.y += BARCODE + 8;
  }

  private key = () => `s${this.shapes.length}`;
}

export function slipOf(receipt: Receipt): Slip {
  const roll = new Roll();
  roll.words("SIGHTGLASS", { size: 22, isBold: true, isCentred: true });
  roll.words("one answer, itemised", { isSoft: true, isCentred: true });
  roll.space(6);
  roll.words(receipt.date, { size: SMALL, isCentred: true });
  roll.words(cut(receipt.model, 44), { size: SMALL, isCentred: true });
  roll.rule();
  for (const each of wrapped(receipt.question, LINES_QUESTION)) roll.words(each, { isBold: true });
  if (receipt.answer) {
    roll.space(4);
    for (const each of wrapped(receipt.answer, LINES_ANSWER)) roll.words(each, { isSoft: true });
  }
  for (const section of receipt.sections) place(roll, section);
  roll.rule();
  if (receipt.bits.length) {
    roll.barcode(receipt.bits);
    const isKnown = receipt.bits.some((each) => each !== null);
    const told = isKnown
      ? "one bar per token, wider when less expected"
      : "one bar per token, chances unknown";
    roll.words(told, { size: SMALL, isSoft: true, isCentred: true });
  }
  roll.words(cut(`ended by: ${receipt.end}`, 44), { size: SMALL, isSoft: true, isCentred: true });
  roll.words(receipt.requestId, { size: SMALL, isSoft: true, isCentred: true });
  return { shapes: roll.shapes, width: WIDTH, height: Math.ceil(roll.y + TOOTH) };
}

function place(roll: Roll, { title, items, note }: Section) {
  roll.rule();
  roll.words(title.toUpperCase(), { size: SMALL, isSoft: true });
  for (const item of items) roll.pair(item.name, item.figure, item);
  if (note) roll.words(note, { size: SMALL, isSoft: true });
}

/** A control character or a line end is a space here; a long text ends in an ellipsis. */
export function cut(words: string, most: number): string {
  const whole = plain(words);
  return columns(whole) <= most ? whole : `${beginning(whole, most - 1)}…`;
}

/** As many of its letters as have room. */
function beginning(words: string, most: number): string {
  let [fitted, width] = ["", 0];
  for (const letter of words) {
    width += columnsOf(letter);
    if (width > most) break;
    fitted += letter;
  }
  return fitted;
}

/** Lines that fit the slip, at most `most`. */
export function wrapped(words: string, most: number): string[] {
  const perLine = Math.floor(INNER / (SIZE * LETTER));
  const lines: string[] = [];
  let at = "";
  for (const word of plain(words).split(" ").filter(Boolean)) {
    for (const part of parts(word, perLine)) {
      if (at && columns(at) + 1 + columns(part) > perLine) {
        lines.push(at);
        at = part;
      } else at = at ? `${at} ${part}` : part;
    }
  }
  if (at) lines.push(at);
  if (lines.length <= most) return lines;
  return [...lines.slice(0, most - 1), cut(`${lines[most - 1]!} ${lines[most]!}`, perLine)];
}

/** A word longer than a line, in pieces. */
function parts(word: string, length: number): string[] {
  const found: string[] = [];
  for (let left = word; left; left = left.slice(found.at(-1)!.length)) found.push(beginning(left, length));
  return found;
}

/** Invisible control signs would move the text after them. */
const plain = (words: string) => words.replaceAll(/[\s\p{Cc}\p{Cf}]+/gu, " ").trim();

/** Signs of two letters' width, as of Chinese and emoji. */
const WIDE =
  /[\u{1100}-\u{115f}\u{2e80}-\u{a4cf}\u{ac00}-\u{d7a3}\u{f900}-\u{faff}\u{fe30}-\u{fe6f}\u{ff00}-\u{ff60}\u{1f000}-\u{3ffff}]/u;
const columnsOf = (letter: string) => (WIDE.test(letter) ? 2 : 1);

/** In letters' widths. */
export const columns = (words: string): number =>
  [...words].reduce((sum, letter) => sum + columnsOf(letter), 0);
