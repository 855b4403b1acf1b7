/** Text to pieces with their bytes, by any tokenizer that the browser's library reads. */
import { Tokenizer } from "@huggingface/tokenizers";
import { bytesLabel } from "../trace/bytes";

export interface Piece {
  id: number;
  label: string;
  /** Null where the tokenizer does not keep them: WordPiece drops spaces, case and accents. */
  bytes: Uint8Array<ArrayBuffer> | null;
}

export interface Cutter {
  cut: (text: string) => Piece[];
  vocabSize: number;
}

export interface Definition {
  /** merges: pairs, or texts of two with a space between, the first to be joined first. */
  model: { type?: string; vocab: unknown; merges?: (string[] | string)[] };
  added_tokens: { id: number; content: string; special: boolean }[];
  pre_tokenizer?: unknown;
  decoder?: unknown;
}

/** isSpelling: true when a control token's name in the text becomes that token. Typed text never does. */
export function buildCutter(definition: Definition, isSpelling = false): Cutter {
  const added_tokens = definition.added_tokens.filter((token) => isSpelling || !token.special);
  const tokenizer = new Tokenizer({ ...definition, added_tokens }, {});
  const bytesOf = reader(definition);
  const names = new Set(definition.added_tokens.map(({ content }) => content));
  const toPiece = (id: number, token: string): Piece => {
    const bytes = names.has(token) ? null : bytesOf(token);
    return { id, bytes, label: bytes ? bytesLabel(bytes) : token };
  };
  return {
    vocabSize: Object.keys(definition.model.vocab as object).length,
    cut: (text) => {
      if (!text) return [];
      const { ids, tokens } = tokenizer.encode(text, { add_special_tokens: false });
      return ids.map((id, index) => toPiece(id, tokens[index]!));
    },
  };
}

/** One code point at a time. */
export const characters: Cutter = {
  vocabSize: 0x110000,
  cut: (text) =>
    [...text].map((char) => {
      const bytes = new TextEncoder().encode(char);
      return { id: char.codePointAt(0)!, bytes, label: bytesLabel(bytes) };
    }),
};

/** One byte of the text's UTF-8 at a time. */
export const byteByByte: Cutter = {
  vocabSize: 256,
  cut: (text) =>
    [...new TextEncoder().encode(text)].map((id) => {
      const bytes = Uint8Array.of(id);
      return { id, bytes, label: bytesLabel(bytes) };
    }),
};

function reader(definition: Definition): (token: string) => Uint8Array<ArrayBuffer> | null {
  if (definition.model.type === "WordPiece") return () => null;
  const steps = JSON.stringify([definition.pre_tokenizer, definition.decoder]);
  return steps.includes("ByteLevel") ? fromByteAlphabet : fromSentencePiece;
}

function fromSentencePiece(token: string): Uint8Array<ArrayBuffer> {
  const byte = /^<0x([0-9A-F]{2})>$/.exec(token);
  return byte ? Uint8Array.of(parseInt(byte[1]!, 16)) : new TextEncoder().encode(token.replaceAll("▁", " "));
}

export function fromByteAlphabet(token: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(token, (char) => BYTE_OF.get(char) ?? 0);
}

/** GPT-2's alphabet: printable bytes stand for themselves, the others for the code points from 256 on, in order. */
const BYTE_OF = new Map<string, number>();
for (let byte = 0, num = 0; byte < 256; byte++) {
  const isPrintable = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  BYTE_OF.set(String.fromCodePoint(isPrintable ? byte : 256 + num++), byte);
}

const CHAR_OF = new Map([...BYTE_OF].map(([char, byte]) => [byte, char]));

/** Each byte as a character that can be seen. */
export function toByteAlphabet(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => CHAR_OF.get(byte)!).join("");
}

export async function loadDefinition(url: string): Promise<Definition> {
  const response = await fetch(url);
  if (!response.ok)
    throw new Error(`The tokenizer did not load (status ${response.status}). Reload the page.`);
  return (await response.json()) as Definition;
}
