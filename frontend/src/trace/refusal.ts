/** The probability of the words with which the model refused, from the tokens that wrote them. Pure. */
import { decodeBase64 } from "./bytes";
import type { FoundSpan, TokenSampled } from "../protocol/events";

export interface RefusalOdds {
  /** Tokens that wrote a part of the words. */
  numTokens: number;
  /** The first token's probability under the model's own distribution. */
  first: number;
  /** That of all of them in a row. */
  all: number;
}

/** Null: a token's probability is not recorded, or the words are not among these tokens. */
export function refusalOdds(
  tokens: TokenSampled[],
  span: Pick<FoundSpan, "start" | "end">,
): RefusalOdds | null {
  const decoder = new TextDecoder();
  const logprobs: (number | null)[] = [];
  let end = 0;
  for (const token of tokens) {
    const start = end;
    end += decoder.decode(decodeBase64(token.piece), { stream: true }).length;
    if (start >= span.end) break;
    if (end > span.start) logprobs.push(token.logprob);
  }
  if (end < span.end || !logprobs.length) return null;
  let sum = 0;
  for (const logprob of logprobs) {
    if (logprob === null) return null;
    sum += logprob;
  }
  return { numTokens: logprobs.length, first: Math.exp(logprobs[0]!), all: Math.exp(sum) };
}
