/** Runs of the engine's own scheduler on a simulated clock, made by the server. Equal questions are asked once. */
import type { Simulation, SimulationRequest } from "../protocol/events";
import type { TraceView } from "../trace/view";
import type { Waiting } from "../protocol/api";
import { api } from "../transport/api";

const POLL_MS = 80;
const answers = new Map<string, Promise<Simulation>>();

export function simulate(request: SimulationRequest): Promise<Simulation> {
  const key = JSON.stringify(request);
  const known = answers.get(key);
  if (known) return known;
  const asked = ask(request);
  answers.set(key, asked);
  asked.catch(() => answers.delete(key));
  return asked;
}

function ask(request: SimulationRequest): Promise<Simulation> {
  return untilThere(() => api.simulate(request));
}

/** Ask again until a worker has answered. */
export async function untilThere<Answer extends object>(
  ask: () => Promise<Answer | Waiting>,
): Promise<Answer> {
  for (let wait = POLL_MS; ; wait = Math.min(1000, wait * 1.3)) {
    const answer = await ask();
    if (!("state" in answer)) return answer;
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

/** Time of a step, and of each token in it besides. */
export interface StepClock {
  step_us: number;
  token_us: number;
  isMeasured: boolean;
}

/** Times of a small model on a core or two, for requests that report none. */
const DEFAULT_CLOCK: StepClock = { step_us: 5000, token_us: 400, isMeasured: false };

/** The clock of the visitor's last request. Its prefill gives the time of a token, its decode that of a step. */
export function clockOf(view: TraceView | null): StepClock {
  const chunks = view?.prefill.filter(({ start, end }) => end - start >= 16) ?? [];
  // Take only steps of one token: a step that verifies guesses computes more.
  const steps = (view?.tokens ?? []).flatMap(({ position, step_us, batch_size }) =>
    step_us !== null && batch_size === 1 && !view!.drafts.passes.has(position) ? [step_us] : [],
  );
  if (!chunks.length || !steps.length) return DEFAULT_CLOCK;
  const numTokens = chunks.reduce((sum, { start, end }) => sum + end - start, 0);
  const token_us = Math.round(chunks.reduce((sum, { step_us }) => sum + step_us, 0) / numTokens);
  const median = steps.sort((a, b) => a - b)[steps.length >> 1]!;
  return { step_us: Math.max(1, median - token_us), token_us, isMeasured: true };
}
