/** Numbers by which tokens of several requests are compared: ids of one tokenizer mean nothing in another. */
import type { TraceView } from "../view";

interface Tokens {
  ids: readonly number[];
  /** base64 */
  pieces: readonly string[];
}

/** True unless two of the requests are known to have different tokenizers. */
export function isOneVocabulary(views: readonly TraceView[]): boolean {
  return new Set(views.flatMap(({ prompt }) => prompt?.version ?? [])).size < 2;
}

/** Equal numbers for equal tokens: the ids, or with different tokenizers a number for each token's bytes. */
export function comparable(views: readonly TraceView[], all: readonly Tokens[]): (readonly number[])[] {
  if (isOneVocabulary(views)) return all.map(({ ids }) => ids);
  const numbers = new Map<string, number>();
  const numberOf = (piece: string) => {
    if (!numbers.has(piece)) numbers.set(piece, numbers.size);
    return numbers.get(piece)!;
  };
  return all.map(({ pieces }) => pieces.map(numberOf));
}
