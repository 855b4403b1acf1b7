/** Bytes decoded token by token, with and without a decoder that waits for whole characters. Pure. */
import type { Piece } from "../../tokenizer/cutter";

export interface DecodedToken {
  piece: Piece;
  /** The token decoded by itself: a part of a character becomes U+FFFD. */
  alone: string;
  /** The text that the waiting decoder releases with this token. */
  released: string;
  /** Bytes that it holds after this token. */
  buffered: number[];
}

export function decodedTokens(pieces: Piece[]): DecodedToken[] {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let pending: number[] = [];
  return pieces.map((piece) => {
    const bytes = piece.bytes ?? new Uint8Array();
    const released = decoder.decode(bytes, { stream: true });
    const numOut = new TextEncoder().encode(released).length;
    pending = [...pending, ...bytes].slice(numOut);
    const alone = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
    return { piece, alone, released, buffered: pending };
  });
}

/** Length of a character in bytes, by its first byte; null: a byte within a character. */
export function lengthOf(first: number): number | null {
  if (first < 0x80) return 1;
  if (first >= 0xf0) return 4;
  if (first >= 0xe0) return 3;
  return first >= 0xc0 ? 2 : null;
}

export function hex(byte: number): string {
  return byte.toString(16).padStart(2, "0").toUpperCase();
}
