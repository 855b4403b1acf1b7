/** Tells whether two texts are made of the same tokens. Pure. */
import type { Piece } from "../../tokenizer/cutter";

/** The reason why two texts cannot be compared; null: none. */
export function sameTokens(first: readonly Piece[], second: readonly Piece[]): string | null {
  if (!first.length || !second.length) return "Type two sentences of the same words.";
  const left = [...second];
  for (const { id, label } of first) {
    const index = left.findIndex((piece) => piece.id === id);
    if (index < 0)
      return `“${label}” is in the first sentence alone. Both need the same tokens; a · is a space.`;
    left.splice(index, 1);
  }
  if (left.length) return `“${left[0]!.label}” is in the second sentence alone. Both need the same tokens.`;
  if (first.at(-1)!.id !== second.at(-1)!.id)
    return "End both with the same token, such as a full stop: that token looks back.";
  return null;
}
