import { expect, it } from "vitest";
import { refusalOdds } from "./refusal";
import { token } from "./fixtures";

const said = (piece: string, logprob: number | null) => ({ ...token(0, 0), piece: btoa(piece), logprob });

it("multiplies the probabilities of the tokens that wrote the words", () => {
  const tokens = [said("I", -1), said(" can't", -0.5), said(" help", -0.25), said(" you", -9)];
  const odds = refusalOdds(tokens, { start: 0, end: 12 });
  expect(odds?.numTokens).toBe(3);
  expect(odds?.first).toBeCloseTo(Math.exp(-1));
  expect(odds?.all).toBeCloseTo(Math.exp(-1.75));
});

it("knows nothing where a probability or the words are not recorded", () => {
  expect(refusalOdds([said("I can't help", null)], { start: 0, end: 12 })).toBeNull();
  expect(refusalOdds([said("I can't", -1)], { start: 0, end: 12 })).toBeNull();
});
