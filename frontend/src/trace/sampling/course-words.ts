/** The answer of the same draws under other settings, in words, computed a few tokens at a time. */
import type { SamplingParams, TokenSampled } from "../../protocol/events";
import { pieceLabel } from "../bytes";
import { textBefore, numKept, type TraceView } from "../view";
import { course, type Course, type Settings } from "./whatif";

/** Tokens that are reckoned between two looks at the clock. */
const STRIDE = 16;

/** Yields after every few tokens; ends at the first that would have differed, or for which that is not known. */
export function* courseInParts(
  tokens: TokenSampled[],
  own: SamplingParams,
  wanted: Settings,
  prompt: readonly number[],
  kept: readonly number[],
  keptPieces: readonly string[] = [],
): Generator<number, Course> {
  const before = [...kept];
  const pieces = [...keptPieces];
  for (let start = 0; start < tokens.length; start += STRIDE) {
    const part = tokens.slice(start, start + STRIDE);
    const { numSame, next } = course(part, own, wanted, prompt, before, pieces);
    if (next) return { numSame: start + numSame, next };
    before.push(...part.map(({ id }) => id));
    pieces.push(...part.map(({ piece }) => piece));
    yield start + part.length;
  }
  return { numSame: tokens.length, next: null };
}

/** The end of a text, from a word's beginning. */
export function tailOf(text: string, length: number): string {
  const flat = text.replaceAll(/\s+/g, " ").trimStart();
  if (flat.length <= length) return flat;
  const cut = flat.slice(-length);
  const space = cut.indexOf(" ");
  return `…${space >= 0 && space < length / 2 ? cut.slice(space + 1) : cut}`;
}

const TAIL = 110;

/** The beginning of the other answer: its equal part, and the first word that differs. */
export interface Retold {
  same: string;
  /** Empty: none is known. */
  other: string;
}

export function retold(
  whole: TraceView,
  { numSame, next }: Course,
  nameOf: (id: number, piece: string) => string,
): Retold {
  const same = tailOf(textBefore(whole, numKept(whole) + numSame), TAIL);
  if (next?.kind !== "drawn") return { same, other: "" };
  const label = pieceLabel(next.piece);
  const isText = label !== "" && !label.startsWith("‹");
  return {
    same,
    other: isText ? label.replaceAll("·", " ").replaceAll("↵", " ↵ ") : nameOf(next.id, next.piece),
  };
}
