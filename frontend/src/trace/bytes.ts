/** Token bytes as they arrive (base64) and as they are shown. */

export function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  return Uint8Array.from(binary, (char) => char.charCodeAt(0));
}

const strict = new TextDecoder("utf-8", { fatal: true });

/** A token's text with visible spaces and line ends; bytes that are no text of their own as hex, never as U+FFFD. */
export function pieceLabel(piece: string): string {
  const bytes = decodeBase64(piece);
  try {
    return strict.decode(bytes).replaceAll(" ", "·").replaceAll("\n", "↵").replaceAll("\t", "⇥");
  } catch {
    return [...bytes].map((byte) => `‹${byte.toString(16).padStart(2, "0").toUpperCase()}›`).join("");
  }
}
