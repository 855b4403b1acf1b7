import fc from "fast-check";
import { expect, it } from "vitest";
import type { TokenSampled } from "../../protocol/events";
import { token } from "../fixtures";
import { added, modelBits, NO_GUESSES, scoreGuess, tallyText } from "./guessing";

/** A whole distribution of which only the first few are recorded. */
function recorded(logits: number[], num: number): { token: TokenSampled; chances: number[] } {
  const normalizer = Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit), 0));
  const base = { ...token(0, 1), log_normalizer: normalizer, logprob: -Math.LN2 };
  const ids = logits.map((_, id) => id).slice(0, num);
  const candidates = { candidate_ids: ids, candidate_logits: logits.slice(0, num), id: 0 };
  return {
    token: { ...base, ...candidates, candidate_pieces: ids.map(() => btoa("x")) },
    chances: logits.map((logit) => Math.exp(logit - normalizer)),
  };
}

const logits = fc.array(fc.double({ min: -6, max: 6, noNaN: true }), { minLength: 2, maxLength: 30 });

it("costs what the model's own chance of the word says, and never more where only a bound is known", () => {
  fc.assert(
    fc.property(logits, fc.nat(29), fc.nat(29), (all, num, id) => {
      fc.pre(id < all.length);
      const { token: sampled, chances } = recorded(all, Math.max(1, num % all.length));
      const guess = scoreGuess(sampled, [id])!;
      const bits = -Math.log2(chances[id]!);
      if (guess.isAtLeast) expect(guess.bits).toBeLessThanOrEqual(bits + 1e-6);
      else expect(guess.bits).toBeCloseTo(bits, 6);
      expect(guess.isAtLeast).toBe(!sampled.candidate_ids.includes(id));
    }),
  );
});

it("counts the likeliest of the tokens that a guess may begin with", () => {
  const { token: sampled } = recorded([0, 3, 1], 3);
  expect(scoreGuess(sampled, [0, 1])).toEqual(scoreGuess(sampled, [1]));
  expect(scoreGuess(sampled, [99, 2])!.index).toBe(2);
});

it("knows no cost where a server does not report its chances", () => {
  expect(scoreGuess({ ...token(0, 1), log_normalizer: null }, [1])).toBeNull();
  expect(modelBits({ ...token(0, 1), logprob: null })).toBeNull();
});

it("compares the bits only where both words' are known, so that no miss beats the model by being unknown", () => {
  const { token: sampled } = recorded([0, 0], 1);
  const right = added(NO_GUESSES, scoreGuess(sampled, [0])!, sampled);
  expect(tallyText(right)).toBe("1 of 1 right. Your words 1.0 bits each, the model’s 1.0.");
  const unknown = added(NO_GUESSES, scoreGuess(sampled, [7])!, sampled);
  expect(tallyText(unknown)).toBe("0 of 1 right. The bits of 1 guess are not known.");
  expect(tallyText(added(right, scoreGuess(sampled, [7])!, sampled))).toBe(
    "1 of 2 right. Your words 1.0 bits each, the model’s 1.0; the bits of 1 guess are not known.",
  );
  expect(tallyText(NO_GUESSES)).not.toMatch(/\d/);
});

it("gives a right guess the model's own bits", () => {
  fc.assert(
    fc.property(logits, fc.nat(29), (all, id) => {
      fc.pre(id < all.length);
      const { token: sampled, chances } = recorded(all, all.length);
      const drawn = { ...sampled, id, logprob: Math.log(chances[id]!) };
      const { yours, model } = added(NO_GUESSES, scoreGuess(drawn, [id])!, drawn);
      expect(yours).toBeCloseTo(model, 6);
    }),
  );
});
