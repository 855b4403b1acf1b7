/**
 * Byte-pair encoding, step by step: a list of pieces is learnt from a text, and a word is cut by a learnt list. Pure.
 *
 * Pieces are texts in the alphabet of bytes (tokenizer/cutter.ts). The rules are those of the tokenizers library. Words
 * are cut first, and no piece goes beyond one. Of equally frequent pairs, the one whose pieces are older is joined.
 */
import { toByteAlphabet } from "../../tokenizer/cutter";

export interface Merge {
  left: string;
  right: string;
  /** Number of times that the pair is in the text. */
  num: number;
}

/** GPT-2's pattern: a word takes the space before it. */
const WORDS = /'(?:[stmd]|re|ve|ll)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;

/** The words of a text, each as its bytes. */
export function wordsOf(text: string): string[][] {
  const encoder = new TextEncoder();
  return (text.match(WORDS) ?? []).map((word) => [...toByteAlphabet(encoder.encode(word))]);
}

/** Join each occurrence of the pair, from left to right. */
export function joined(word: readonly string[], { left, right }: Pick<Merge, "left" | "right">): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < word.length; at++) {
    const isPair = word[at] === left && word[at + 1] === right;
    pieces.push(isPair ? left + right : word[at]!);
    if (isPair) at += 1;
  }
  return pieces;
}

/** The pairs of a text, the next to join first. `age`: each piece's age, 0 for the oldest. */
export function pairsOf(words: readonly (readonly string[])[], age: ReadonlyMap<string, number>): Merge[] {
  const found = new Map<string, Merge>();
  for (const word of words)
    for (let at = 0; at + 1 < word.length; at++) {
      const [left, right] = [word[at]!, word[at + 1]!];
      const key = `${left} ${right}`;
      const pair = found.get(key) ?? { left, right, num: 0 };
      pair.num += 1;
      found.set(key, pair);
    }
  const ageOf = (piece: string) => age.get(piece)!;
  return [...found.values()].sort(
    (one, other) =>
      other.num - one.num || ageOf(one.left) - ageOf(other.left) || ageOf(one.right) - ageOf(other.right),
  );
}

/** The age of the first pieces: one for each byte, in the order of their characters. */
function firstPieces(): Map<string, number> {
  const chars = [...toByteAlphabet(Uint8Array.from({ length: 256 }, (_, byte) => byte))].sort();
  return new Map(chars.map((char, age) => [char, age]));
}

/** The text after a number of merges. */
export interface Round {
  words: string[][];
  /** The pairs that come most often now, the next merge first. */
  pairs: Merge[];
}

/** Learn up to `most` merges from a text, until no pair comes twice. The rounds begin with the bytes. */
export function learn(text: string, most: number): { merges: Merge[]; rounds: Round[] } {
  const age = firstPieces();
  let words = wordsOf(text);
  let pairs = pairsOf(words, age);
  const merges: Merge[] = [];
  const rounds: Round[] = [{ words, pairs: pairs.slice(0, 6) }];
  while (merges.length < most && pairs[0] && pairs[0].num >= 2) {
    const merge = pairs[0];
    merges.push(merge);
    const piece = merge.left + merge.right;
    if (!age.has(piece)) age.set(piece, age.size);
    words = words.map((word) => joined(word, merge));
    pairs = pairsOf(words, age);
    rounds.push({ words, pairs: pairs.slice(0, 6) });
  }
  return { merges, rounds };
}

/** The rank of each pair in a model's list. A key is the two pieces with a space between. */
export function ranksOf(merges: readonly (readonly string[] | string)[]): Map<string, number> {
  return new Map(merges.map((merge, rank) => [typeof merge === "string" ? merge : merge.join(" "), rank]));
}

export interface Join {
  left: string;
  right: string;
  /** The pair's place in the list, from 0. */
  rank: number;
  /** The word's pieces after it. */
  pieces: string[];
}

/** The joins of a word. The pair that was learnt first is joined first. */
export function joinsOf(word: readonly string[], ranks: ReadonlyMap<string, number>): Join[] {
  const joins: Join[] = [];
  let pieces = [...word];
  for (;;) {
    let best: Omit<Join, "pieces"> | null = null;
    for (let at = 0; at + 1 < pieces.length; at++) {
      const [left, right] = [pieces[at]!, pieces[at + 1]!];
      const rank = ranks.get(`${left} ${right}`);
      if (rank !== undefined && (!best || rank < best.rank)) best = { left, right, rank };
    }
    if (!best) return joins;
    pieces = joined(pieces, best);
    joins.push({ ...best, pieces });
  }
}
