/** Tokens that each step computes, with a KV cache and without. Pure. */

export interface Counts {
  cached: number;
  uncached: number;
}

/** The counts of the step that gives token `step` of the answer, from 0. */
export function countsAt(numPrompt: number, step: number): Counts {
  return { cached: step ? 1 : numPrompt, uncached: numPrompt + step };
}

export function countsOf(numPrompt: number, numSteps: number): Counts {
  const steps = Array.from({ length: numSteps }, (_, step) => countsAt(numPrompt, step));
  return {
    cached: steps.reduce((sum, { cached }) => sum + cached, 0),
    uncached: steps.reduce((sum, { uncached }) => sum + uncached, 0),
  };
}
