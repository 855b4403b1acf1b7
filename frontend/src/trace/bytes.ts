/** Token bytes as they arrive (base64) and as they are shown. */

export function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  return Uint8Array.from(binary, (char) => char.charCodeAt(0));
}

/** The piece of each token in a redacted trace; it does not tell the number of bytes. */
export const REDACTED_PIECE = "4pauIA==";

/** The name of such a token. */
export const HIDDEN = "hidden";

/** The text in place of each of its texts. */
export const REDACTED_TEXT = "[redacted]";

const strict = new TextDecoder("utf-8", { fatal: true });

/** The token by which a turn ends, whatever the model's own template calls it. */
export const END_OF_TURN = "end of turn";

const ENDS = new Set(
  ["<|im_end|>", "<|eot_id|>", "<end_of_turn>", "<|eot|>", "<|end|>"].map((name) => btoa(name)),
);

/** A token's text with visible spaces and line ends; bytes that are no text of their own as hex, never as U+FFFD. */
export function pieceLabel(piece: string): string {
  if (ENDS.has(piece)) return END_OF_TURN;
  return piece === REDACTED_PIECE ? HIDDEN : bytesLabel(decodeBase64(piece));
}

/** Tokens as one text; a redacted one keeps its mark. */
export function joinedLabels(pieces: string[]): string {
  return pieces.map((piece) => bytesLabel(decodeBase64(piece)).replace(/^▮·$/, "▮ ")).join("");
}

export function bytesLabel(bytes: Uint8Array<ArrayBuffer>): string {
  try {
    return strict.decode(bytes).replaceAll(" ", "·").replaceAll("\n", "↵").replaceAll("\t", "⇥");
  } catch {
    return [...bytes].map((byte) => `‹${byte.toString(16).padStart(2, "0").toUpperCase()}›`).join("");
  }
}

/** More bytes than this without a whole character are no text at all. */
const MOST_BYTES = 16;

/** For each token that is no text of its own, the text of it and its neighbours together; null for all others. */
export function sharedText(pieces: string[]): (string | null)[] {
  const result = pieces.map((): string | null => null);
  let first = 0;
  let bytes: number[] = [];
  pieces.forEach((piece, index) => {
    if (!bytes.length) first = index;
    bytes.push(...decodeBase64(piece));
    try {
      const text = strict.decode(Uint8Array.from(bytes));
      if (index > first) result.fill(text, first, index + 1);
      bytes = [];
    } catch {
      if (bytes.length > MOST_BYTES) bytes = [];
    }
  });
  return result;
}
