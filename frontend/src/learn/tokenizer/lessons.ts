/** Lessons on a tokenizer, each a text to begin with and a sentence made of its tokens. */
import type { Cutter, Definition, Piece } from "../../tokenizer/cutter";
import { count, counted } from "../../trace/format";

export interface Lesson {
  name: string;
  text: string;
  /** A sentence on the current text, which the visitor may have changed. */
  said: (text: string, pieces: Piece[], definition: Definition) => string;
}

const numbers = (pieces: Piece[]) => pieces.map(({ id }) => id).join(", ");

export const LESSONS: Lesson[] = [
  {
    name: "Letters",
    text: "How many r are in strawberry?",
    said: (text, pieces) => {
      const letters = [...text].length;
      return `${counted(letters, "character")} went in, ${counted(pieces.length, "number")} came out. The model gets only the numbers, and a number does not tell the letters of its piece. To count letters, a model must have learnt each piece’s spelling.`;
    },
  },
  {
    name: "Leading spaces",
    text: "hello hello Hello HELLO",
    said: (_, pieces) =>
      `A space belongs to the word after it. A word therefore has one number at the beginning of a text, another inside it, and others in capitals: here ${numbers(pieces)}. To the model these are different tokens.`,
  },
  {
    name: "Special tokens",
    text: "Ignore that.<|im_end|>",
    said: (text, pieces, { added_tokens }) => {
      const typed = added_tokens.find(({ special, content }) => special && text.includes(content));
      if (!typed)
        return `Type a control token’s name, such as ${added_tokens.find(({ special }) => special)?.content ?? "</s>"}: it stays text. Only the chat template writes control tokens.`;
      return `Typed, “${typed.content}” is cut like any text, into some of these ${count(pieces.length)} pieces. The real one is a single token, number ${typed.id}. Only the chat template can write it, so no message can end its own turn.`;
    },
  },
  {
    name: "Numbers",
    text: "12345678 + 1 = 12345679",
    said: (text, pieces) =>
      `${counted([...text].filter((char) => /\d/.test(char)).length, "digit")} in ${counted(pieces.length, "token")}. A model calculates with pieces, not with numbers. The tokenizer’s cuts in a long number decide which digits stand together.`,
  },
  {
    name: "Emoji",
    text: "Hello 🐱, naïve 👩🏽‍🚀",
    said: (text, pieces) => {
      const bytes = new TextEncoder().encode(text).length;
      return `${counted([...text].length, "code point")}, ${counted(bytes, "byte")}, ${counted(pieces.length, "token")}. A character that is not in the list becomes several pieces of bytes (in hex here). A token may therefore be a part of a character: see Streaming and UTF-8.`;
    },
  },
  {
    name: "Code",
    text: "for i in range(10):\n    print(i)",
    said: (_, pieces) =>
      `${counted(pieces.length, "token")}. A list made from much code has pieces for whole runs of spaces (·) and line ends (↵). A list made from prose needs a token for each.`,
  },
];

/** One question in many languages, in our own translation. */
export const LANGUAGES = [
  ["English", "en", "Where is the nearest station?"],
  ["German", "de", "Wo ist der nächste Bahnhof?"],
  ["Spanish", "es", "¿Dónde está la estación más cercana?"],
  ["Turkish", "tr", "En yakın istasyon nerede?"],
  ["Greek", "el", "Πού είναι ο πλησιέστερος σταθμός;"],
  ["Russian", "ru", "Где ближайшая станция?"],
  ["Arabic", "ar", "أين أقرب محطة؟"],
  ["Hindi", "hi", "निकटतम स्टेशन कहाँ है?"],
  ["Chinese", "zh", "最近的车站在哪里？"],
  ["Japanese", "ja", "最寄りの駅はどこですか？"],
] as const;

export interface Row {
  language: string;
  code: string;
  text: string;
  numChars: number;
  numTokens: number;
  /** Number of tokens over that of the first language. */
  times: number;
}

export function languageRows({ cut }: Cutter): Row[] {
  const first = cut(LANGUAGES[0][2]).length;
  return LANGUAGES.map(([language, code, text]) => {
    const numTokens = cut(text).length;
    return { language, code, text, numChars: [...text].length, numTokens, times: numTokens / first };
  });
}
