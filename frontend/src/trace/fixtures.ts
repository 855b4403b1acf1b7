/** Events for tests. */
import type {
  AnyEvent,
  CacheLookedUp,
  GenerationFinished,
  ProcessorEffect,
  SamplingParams,
  TokenSampled,
} from "../protocol/events";
import { fold } from "./fold";
import { emptyView, type TraceView } from "./view";

export const PARAMS: SamplingParams = {
  json_schema: null,
  regex: null,
  tool_calls: null,
  logit_bias: [],
  banned_token_ids: [],
  repetition_penalty: 1,
  frequency_penalty: 0,
  presence_penalty: 0,
  dry_multiplier: 0,
  dry_base: 1.75,
  dry_allowed_length: 2,
  dry_penalty_last_n: -1,
  dry_sequence_breakers: ["\n", ":", '"', "*"],
  temperature: 0.5,
  top_k: 2,
  top_p: 1,
  min_p: 0,
  typical_p: 1,
  seed: 1,
  thinking_tokens: null,
  max_tokens: 8,
  stop: [],
  stop_token_ids: [],
  stop_on_repetition: true,
};

export const logSumExp = (logits: number[]) =>
  Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit), 0));

export function processor(
  name: ProcessorEffect["name"],
  num_candidates: number,
  mass: number,
  log_normalizer: number,
  rest: Partial<ProcessorEffect> = {},
): ProcessorEffect {
  return { name, num_candidates, mass, log_normalizer, logits: null, first: 0, masked: [], ...rest };
}

/** A vocabulary of four tokens, so that everything can be checked by hand. */
export function token(position: number, at: number): TokenSampled {
  const logits = [2, 1, 0, -1];
  const scaled = logits.map((logit) => logit / 0.5);
  return {
    type: "token.sampled",
    is_withheld: false,
    generation: 0,
    at,
    position,
    id: 10,
    piece: btoa(" a"),
    is_special: false,
    is_shown: true,
    logprob: 2 - logSumExp(logits),
    rank: 1,
    entropy: 0.9,
    u: 0.3,
    low: 0,
    high: 0.88,
    log_normalizer: logSumExp(logits),
    candidate_ids: [10, 11, 12],
    candidate_logits: logits.slice(0, 3),
    candidate_pieces: [btoa(" a"), btoa("b"), btoa("c")],
    processors: [
      processor("temperature", 4, 1, logSumExp(scaled)),
      processor("top_k", 2, 0.98, logSumExp(scaled.slice(0, 2))),
    ],
    step_us: 10_000,
    batch_size: 1,
    chosen_by: "draw",
  };
}

/** Step mode: the token is proposed, and taken so much later. */
export function chosen(position: number, proposedAt: number, waitedUs: number): AnyEvent[] {
  const at = proposedAt + waitedUs;
  return [
    { type: "token.proposed", generation: 0, at: proposedAt, token: token(position, proposedAt) },
    token(position, at),
  ];
}

export function foldAll(events: AnyEvent[]): TraceView {
  return events.reduce((view, event, index) => fold(view, event, index + 1), emptyView());
}

export const RELEASED: AnyEvent = {
  type: "text.released",
  generation: 0,
  at: 310_000,
  text: " a a",
  num_tokens: 2,
};

export const ACCEPTED = {
  type: "request.accepted",
  at: 0,
  received_at: -2000,
  accepted_unix_us: 1_000_000,
  params: PARAMS,
  features: [],
} as unknown as AnyEvent;

export const WITHHELD: AnyEvent = {
  type: "text.withheld",
  generation: 0,
  at: 320_000,
  num_tokens: 1,
  category: "self_harm",
  replacement: "Gone.",
};

/** A look-up recorded before traces recorded the blocks themselves. */
export const LOOKED_UP: CacheLookedUp = {
  type: "cache.looked_up",
  generation: 0,
  at: 6000,
  block_size: 16,
  hits: [true, true, false],
  num_cached_tokens: 32,
  saved_us: null,
  num_timed_tokens: null,
  marks: [],
  num_owners: null,
  was_empty: null,
  absence: null,
};

export const CANCELLED: AnyEvent = { type: "request.cancelled", at: 320_000, by: "user" };

const USAGE = { uncached_input: 5, cache_read: 0, cache_write_5m: 0, cache_write_1h: 0, output: 2 };

/** The engine's end and the request's. */
export function ended(finish_reason: GenerationFinished["finish_reason"]): AnyEvent[] {
  return [
    {
      type: "generation.finished",
      generation: 0,
      at: 330_000,
      finish_reason,
      usage: USAGE,
      prefill_us: 1,
      decode_us: 1,
      message: "",
      code: null,
      is_cache_known: true,
      num_server_prompt_tokens: null,
      num_image_tokens: null,
    },
    { type: "request.finished", at: 340_000, finish_reason, usage: USAGE },
  ];
}

export function failed(stage: string, code: string, message = "Because."): AnyEvent {
  return { type: "request.failed", at: 340_000, stage, code, message };
}

/** It takes three tokens over. */
export const FORKED = {
  type: "generation.forked",
  generation: 0,
  at: 2,
  position: 3,
  ids: [7, 8, 9],
  pieces: ["x", "y", "z"].map(btoa),
} as unknown as AnyEvent;

/** The figures of an answer as its conversation has them. */
export const FIGURES = {
  usage: { uncached_input: 6, cache_read: 48, cache_write_5m: 0, cache_write_1h: 0, output: 8 },
  cost_nano: 856,
  currency: "USD",
  finish_reason: "stop",
  max_tokens: 8,
  first_text_us: 81_800,
};

/** A fork that reads 40 tokens of prompt and 8 that it took over; of these the cache had all but the last 3. */
export const FORK: AnyEvent[] = [
  ACCEPTED,
  {
    type: "prompt.tokenized",
    generation: 0,
    at: 3000,
    tokenizer: "t",
    version: "v",
    ids: Array.from({ length: 40 }, (_, index) => index),
    pieces: Array.from({ length: 40 }, () => btoa(" a")),
    special: [],
    lossy_bytes: 0,
    thinking: null,
    duration_us: 1,
  },
  {
    type: "generation.forked",
    generation: 0,
    at: 4000,
    from_request_id: "req_b",
    position: 8,
    ids: Array.from({ length: 8 }, (_, index) => index),
    pieces: Array.from({ length: 8 }, () => btoa(" b")),
    text: " b".repeat(8),
    thinking: "",
    from_generation: 0,
    rounds: [],
  },
  { ...LOOKED_UP, num_cached_tokens: 45 },
  {
    type: "prefill.advanced",
    generation: 0,
    at: 20_000,
    start: 45,
    end: 48,
    total: 48,
    step_us: 10_000,
    batch_size: 1,
    num_step_tokens: 3,
    tokens_per_second: 1,
  } as unknown as AnyEvent,
  token(8, 30_000),
  token(9, 50_000),
  RELEASED,
  ...ended("stop"),
];
