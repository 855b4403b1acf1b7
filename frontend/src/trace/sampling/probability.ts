/** Probabilities after every logits processor, from recorded values: raw logits and each processor's normaliser. */
import type { ProcessorEffect, SamplingParams, TokenSampled } from "../../protocol/events";

export interface Column {
  name: ProcessorEffect["name"] | "model";
  numCandidates: number | null;
  mass: number;
  /** Per recorded token; null where the processor (or one before) removed it. */
  probabilities: (number | null)[];
  /** The joint probability of all candidates that are not listed. */
  others: number;
}

/** True when the most likely token was taken without a draw; without `low` the draw is merely not known. */
export function isGreedy(token: TokenSampled): boolean {
  return token.u === null && token.low !== null;
}

/** True when the recorded candidates have logits; else they have only log-probabilities. */
export function hasLogits(token: TokenSampled): boolean {
  return token.log_normalizer !== null;
}

/** One column for the model's own distribution, then one per processor that was on, as far as the processors are known. */
export function columns(token: TokenSampled, params: SamplingParams): Column[] {
  // Masked tokens stand after the candidates and have no place in their order.
  const numMasked = (token.processors ?? []).reduce((sum, processor) => sum + processor.masked.length, 0);
  const numCandidates = token.candidate_ids.length - numMasked;
  let logits: (number | null)[] = token.candidate_logits;
  const result = [column("model", null, 1, logits, token.log_normalizer ?? 0)];
  for (const processor of token.processors ?? []) {
    logits = logits.map((logit, index) => {
      const id = token.candidate_ids[index]!;
      if (logit === null || processor.masked.includes(id)) return null;
      if (index < numCandidates && id !== token.id && !isInRun(processor, index)) return null;
      if (processor.name === "temperature") return logit / params.temperature;
      return processor.logits?.[index] ?? logit;
    });
    result.push(
      column(processor.name, processor.num_candidates, processor.mass, logits, processor.log_normalizer),
    );
  }
  return result;
}

/** The chosen token may stand after the first candidates, at a place that is not recorded; it is in every run. */
function isInRun(processor: ProcessorEffect, index: number): boolean {
  return index >= processor.first && index < processor.first + processor.num_candidates;
}

function column(
  name: Column["name"],
  numCandidates: number | null,
  mass: number,
  logits: (number | null)[],
  logNormalizer: number,
): Column {
  const probabilities = logits.map((logit) => (logit === null ? null : Math.exp(logit - logNormalizer)));
  const listed = probabilities.reduce<number>((sum, p) => sum + (p ?? 0), 0);
  const numListed = probabilities.filter((p) => p !== null).length;
  return {
    name,
    numCandidates,
    mass,
    probabilities,
    others: numCandidates === numListed ? 0 : Math.max(0, 1 - listed),
  };
}

/** The distribution from which the token was drawn, null where unknown; greedy decoding puts all on the first. */
export function finalProbabilities(token: TokenSampled, params: SamplingParams): (number | null)[] | null {
  if (isGreedy(token)) return token.candidate_ids.map((id) => (id === token.id ? 1 : null));
  if (token.processors === null) return null;
  return columns(token, params).at(-1)!.probabilities;
}
