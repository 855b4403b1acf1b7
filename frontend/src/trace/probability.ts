/** Probabilities after every sampler stage, derived from what was recorded: raw logits and each stage's normaliser. */
import type { SamplerStage, SamplingParams, TokenSampled } from "../protocol/events";

export interface Column {
  name: SamplerStage["name"] | "model";
  numCandidates: number | null;
  mass: number;
  /** Per candidate, in candidate order; null where the stage (or one before) removed it. */
  probabilities: (number | null)[];
  /** What all candidates that are not listed have together. */
  others: number;
}

/** One column for the model's own distribution, then one per stage that was on. */
export function columns(token: TokenSampled, params: SamplingParams): Column[] {
  let logits = token.candidate_logits;
  let kept = Number.POSITIVE_INFINITY;
  const result = [column("model", null, 1, logits, token.log_normalizer, kept, token)];
  for (const stage of token.stages) {
    if (stage.logits) logits = logits.map((logit, index) => stage.logits![index] ?? logit);
    if (stage.name === "temperature") logits = logits.map((logit) => logit / params.temperature);
    kept = Math.min(kept, stage.num_candidates);
    result.push(
      column(stage.name, stage.num_candidates, stage.mass, logits, stage.log_normalizer, kept, token),
    );
  }
  return result;
}

function column(
  name: Column["name"],
  numCandidates: number | null,
  mass: number,
  logits: number[],
  logNormalizer: number,
  kept: number,
  token: TokenSampled,
): Column {
  const probabilities = logits.map((logit, index) =>
    index < kept || token.candidate_ids[index] === token.id ? Math.exp(logit - logNormalizer) : null,
  );
  const listed = probabilities.reduce<number>((sum, p) => sum + (p ?? 0), 0);
  return { name, numCandidates, mass, probabilities, others: Math.max(0, 1 - listed) };
}

/** The distribution from which the token was drawn; greedy decoding puts all on the first candidate. */
export function finalProbabilities(token: TokenSampled, params: SamplingParams): (number | null)[] {
  if (token.u === null) return token.candidate_ids.map((id) => (id === token.id ? 1 : null));
  return columns(token, params).at(-1)!.probabilities;
}
