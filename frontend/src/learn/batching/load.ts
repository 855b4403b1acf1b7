/** The load on the simulated machine, and the findings of a run. Pure. */
import type { Simulation, SimulationRequest } from "../../protocol/events";
import type { StepClock } from "../simulation";

export interface Load {
  numRequests: number;
  everyMs: number;
  numPrompt: number;
  numAnswer: number;
  atOnce: number;
  /** Tokens of a step in which another request decodes. */
  chunk: number;
  hasLong: boolean;
}

export const LONG_PROMPT = 1500;
const TOKEN_BUDGET = 2048;
const NUM_BLOCKS = 2048;

export function requestOf(load: Load, { step_us, token_us }: StepClock): SimulationRequest {
  const arrivals = Array.from({ length: load.numRequests }, (_, index) => {
    const isLong = load.hasLong && index === longIndex(load);
    // No two requests share a token, so nothing comes from a cache.
    const ids = (size: number, from: number) =>
      Array.from({ length: size }, (_, at) => index * 10_000 + from + at);
    return {
      at_us: Math.round(index * load.everyMs * 1000),
      user: `visitor ${index + 1}`,
      prompt: ids(isLong ? LONG_PROMPT : load.numPrompt, 0),
      answer: ids(load.numAnswer, 5000),
      ttl: "none" as const,
    };
  });
  return {
    arrivals,
    num_blocks: NUM_BLOCKS,
    max_num_running: load.atOnce,
    token_budget: TOKEN_BUDGET,
    mixed_budget: Math.max(load.chunk, load.atOnce + 1),
    step_us,
    token_us,
    has_cache: false,
    has_blocks: false,
  };
}

/** Index of the long request, the middle one. */
export function longIndex({ numRequests }: Load): number {
  return numRequests >> 1;
}

export interface Span {
  kind: "waiting" | "prefill" | "decode";
  start: number;
  end: number;
  numTokens: number;
  /** Number of steps: equal steps in a row are one span. */
  numSteps: number;
}

/** Each request's spans, from its arrival on, µs. */
export function spansOf(request: SimulationRequest, run: Simulation): Span[][] {
  const rows: Span[][] = request.arrivals.map(() => []);
  for (const { at_us, duration_us, shares } of run.steps)
    for (const { arrival, num_tokens, is_prefill } of shares) {
      const row = rows[arrival]!;
      const last = row.at(-1);
      const kind = is_prefill ? "prefill" : "decode";
      const end = at_us + duration_us;
      if (last?.kind === kind && kind === "decode" && last.end === at_us) {
        last.end = end;
        last.numTokens += num_tokens;
        last.numSteps += 1;
        continue;
      }
      const before = last?.end ?? request.arrivals[arrival]!.at_us;
      if (before < at_us) row.push({ kind: "waiting", start: before, end: at_us, numTokens: 0, numSteps: 0 });
      row.push({ kind, start: at_us, end, numTokens: num_tokens, numSteps: 1 });
    }
  return rows;
}

export interface Figures {
  /** From the first arrival to the last token, µs. */
  total: number;
  tokensPerSecond: number;
  /** Mean over the requests, from arrival to first token, µs. */
  firstToken: number;
  /** The longest wait of any request between two tokens, µs. */
  longestGap: number;
}

export function figuresOf(request: SimulationRequest, { stories }: Simulation): Figures {
  const total = Math.max(...stories.map(({ finished_us }) => finished_us));
  const numTokens = stories.reduce((sum, { usage }) => sum + usage.output, 0);
  const waits = stories.map(({ first_token_us }, index) => first_token_us - request.arrivals[index]!.at_us);
  return {
    total,
    tokensPerSecond: numTokens / (total / 1e6),
    firstToken: waits.reduce((sum, wait) => sum + wait, 0) / waits.length,
    longestGap: Math.max(...stories.map(({ longest_gap_us }) => longest_gap_us)),
  };
}
