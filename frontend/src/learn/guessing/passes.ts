/** The steps of a guessed answer, and their times by a simulated clock. Pure. */
import type { Guesses, GuessStep } from "../../protocol/events";
import type { StepClock } from "../simulation";

export interface Figures {
  numTokens: number;
  numSteps: number;
  numGuesses: number;
  numAccepted: number;
  /** Time by the clock, µs: of each step, and of each token in it besides. */
  time: number;
  /** Time without guesses, µs. */
  plainTime: number;
}

export function figuresOf({ steps }: Guesses, { step_us, token_us }: StepClock): Figures {
  const sum = (of: (step: GuessStep) => number) => steps.reduce((all, step) => all + of(step), 0);
  const numTokens = sum(({ num_tokens }) => num_tokens);
  const numGuesses = sum(({ guesses }) => guesses.length);
  return {
    numTokens,
    numSteps: steps.length,
    numGuesses,
    numAccepted: sum(({ num_accepted }) => num_accepted),
    time: steps.length * (step_us + token_us) + numGuesses * token_us,
    plainTime: numTokens * (step_us + token_us),
  };
}
