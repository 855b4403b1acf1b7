/** A token's surprise to the model. */
import type { TokenSampled } from "../../protocol/events";

/** In bits: -log2 of the model's own probability of it, before any setting; null: not reported. */
export const surpriseOf = ({ logprob }: Pick<TokenSampled, "logprob">): number | null =>
  logprob === null ? null : -logprob / Math.LN2;
