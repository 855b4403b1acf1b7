import { describe, expect, it } from "vitest";
import type { Guesses } from "../../protocol/events";
import { figuresOf } from "./passes";

describe("guessing ahead", () => {
  it("takes a step's time once, and a token's for each that is computed", () => {
    const guesses: Guesses = {
      type: "guess",
      steps: [
        { position: 0, guesses: [], num_accepted: 0, num_tokens: 1 },
        { position: 1, guesses: [7, 8, 9], num_accepted: 2, num_tokens: 3 },
      ],
    };
    expect(figuresOf(guesses, { step_us: 100, token_us: 10, isMeasured: true })).toEqual({
      numTokens: 4,
      numSteps: 2,
      numGuesses: 3,
      numAccepted: 2,
      time: 2 * 110 + 3 * 10,
      plainTime: 4 * 110,
    });
  });
});
