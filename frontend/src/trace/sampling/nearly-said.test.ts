import fc from "fast-check";
import { expect, it } from "vitest";
import { logSumExp, processor, token } from "../fixtures";
import { nearlySaid } from "./nearly-said";

/** A vocabulary of which the first are recorded, in the order given. */
function sampled(logits: number[], numRecorded: number, chosen: number) {
  const listed = logits.map((_, id) => id).slice(0, numRecorded);
  const ids = chosen < numRecorded ? listed : [...listed, chosen];
  return {
    ...token(0, 1),
    id: chosen,
    log_normalizer: logSumExp(logits),
    candidate_ids: ids,
    candidate_logits: ids.map((id) => logits[id]!),
    candidate_pieces: ids.map((id) => btoa(String(id))),
    processors: [processor("temperature", logits.length, 1, 0)],
  };
}

it("lists the five likeliest by the model's own probability, and the chosen one where it is none of them", () => {
  const nearly = nearlySaid(sampled([1, 5, 4, 3, 2, 0, -1, -2], 6, 7))!;
  expect(nearly.rows.map(({ id }) => id)).toEqual([1, 2, 3, 4, 0, 7]);
  expect(nearly.rows.filter(({ isChosen }) => isChosen).map(({ id }) => id)).toEqual([7]);
  expect(nearly.rest.num).toBe(2);
});

it("adds up to one with the rest, whatever the logits are", () => {
  const logits = fc.array(fc.integer({ min: -20, max: 20 }), { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(logits, fc.nat(), fc.nat(), (values, most, at) => {
      const nearly = nearlySaid(sampled(values, 1 + (most % values.length), at % values.length))!;
      const shares = nearly.rows.map(({ probability }) => probability);
      const sum = shares.reduce((all, each) => all + each, nearly.rest.probability);
      expect(sum).toBeCloseTo(1, 6);
      expect(shares).toEqual([...shares].sort((a, b) => b - a));
      expect(nearly.rows.length).toBeLessThanOrEqual(6);
    }),
  );
});

it.each(["logit_bias", "penalties", "dry", "temperature"] as const)(
  "says how many others there are where %s came first, which takes none away",
  (name) => {
    const one = sampled([2, 1, 0], 3, 0);
    expect(nearlySaid({ ...one, processors: [processor(name, 9, 1, 1)] })!.rest.num).toBe(6);
  },
);

it("does not say how many others there are where a stage took some away first, nor anything without candidates", () => {
  const one = sampled([2, 1, 0], 3, 0);
  expect(nearlySaid({ ...one, processors: [processor("top_k", 2, 0.9, 1)] })!.rest.num).toBeNull();
  expect(nearlySaid({ ...one, candidate_ids: [], candidate_logits: [], candidate_pieces: [] })).toBeNull();
});
