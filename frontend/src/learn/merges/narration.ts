/** The sizes of the pieces that the request was made of. */
import { decodeBase64, pieceLabel } from "../../trace/bytes";
import { counted } from "../../trace/format";
import { line, missing, type Narration } from "../own/reading-clock";

export const narratePieces: Narration = (view) => {
  const { prompt, tokens } = view;
  if (!prompt) return missing(view, "the prompt");
  const special = new Set(prompt.special);
  const pieces = prompt.pieces.filter((_, index) => !special.has(index));
  const sizes = pieces.map((piece) => decodeBase64(piece).length);
  const numBytes = sizes.reduce((sum, size) => sum + size, 0);
  const lines = [
    line(
      `The prompt’s texts are ${counted(numBytes, "byte")}, joined into ${counted(pieces.length, "piece")}.`,
      prompt.at - prompt.duration_us,
      prompt.at,
    ),
  ];
  if (pieces.length) {
    const longest = pieces[sizes.indexOf(Math.max(...sizes))]!;
    lines.push(
      line(
        `The longest is “${pieceLabel(longest)}”: ${counted(Math.max(...sizes), "byte")} with one number.`,
        prompt.at,
        prompt.at,
      ),
      line(
        `${counted(sizes.filter((size) => size === 1).length, "piece")} are a single byte, because no longer piece of the list fitted there.`,
        prompt.at,
        prompt.at,
      ),
    );
  }
  const [first, last] = [tokens[0], tokens.at(-1)];
  if (first && last)
    lines.push(
      line(
        `The answer is written in the same pieces: ${counted(tokens.length, "token")} of them.`,
        first.at,
        last.at,
      ),
    );
  return lines;
};
