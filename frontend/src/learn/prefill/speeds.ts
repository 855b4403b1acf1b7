/** The speeds of reading a prompt and writing an answer, on the simulated machine. Pure. */
import type { Simulation, SimulationRequest } from "../../protocol/events";
import type { StepClock } from "../simulation";

export interface Job {
  numPrompt: number;
  numAnswer: number;
  /** Number of requests of this kind at once. */
  numBeside: number;
}

const TOKEN_BUDGET = 512;
const MIXED_BUDGET = 192;

export function requestOf(
  { numPrompt, numAnswer, numBeside }: Job,
  { step_us, token_us }: StepClock,
): SimulationRequest {
  const range = (length: number, first: number) => Array.from({ length }, (_, index) => first + index);
  return {
    arrivals: range(numBeside, 0).map((index) => ({
      at_us: 0,
      user: `visitor ${index + 1}`,
      prompt: range(numPrompt, 10_000 * index),
      answer: range(numAnswer, 10_000 * index + 5000),
      ttl: "none",
    })),
    num_blocks: 4096,
    max_num_running: 16,
    token_budget: TOKEN_BUDGET,
    mixed_budget: MIXED_BUDGET,
    step_us,
    token_us,
    has_cache: false,
    has_blocks: false,
  };
}

export interface Bar {
  start: number;
  width: number;
  numRead: number;
  numWritten: number;
}

export function barsOf({ steps }: Simulation): Bar[] {
  return steps.map(({ at_us, duration_us, shares }) => {
    const sum = (isPrefill: boolean) =>
      shares.reduce((all, share) => all + (share.is_prefill === isPrefill ? share.num_tokens : 0), 0);
    return { start: at_us, width: duration_us, numRead: sum(true), numWritten: sum(false) };
  });
}

export interface Speed {
  numTokens: number;
  us: number;
}

/** Speeds of the steps that read prompts, and of the steps that only write. */
export function speedsOf(bars: Bar[]): { reading: Speed; writing: Speed } {
  const sum = (chosen: Bar[], of: (bar: Bar) => number) => chosen.reduce((all, bar) => all + of(bar), 0);
  const reading = bars.filter(({ numRead }) => numRead > 0);
  const writing = bars.filter(({ numRead }) => numRead === 0);
  return {
    reading: { numTokens: sum(reading, ({ numRead }) => numRead), us: sum(reading, ({ width }) => width) },
    writing: {
      numTokens: sum(writing, ({ numWritten }) => numWritten),
      us: sum(writing, ({ width }) => width),
    },
  };
}

export function perSecond({ numTokens, us }: Speed): number | null {
  return us > 0 ? numTokens / (us / 1e6) : null;
}
