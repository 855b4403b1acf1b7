import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { WhatIf } from "../../protocol/api";
import { usd } from "../../charts/fixtures";
import { linesOf, notesOf, questionOf, QUESTIONS, textOf, whatIfQuery, type Question } from "./whatif";

const USUAL = questionOf("");
const name = fc.string().filter((text) => !text.includes("~"));
const question: fc.Arbitrary<Question> = fc
  .record({
    name: fc.constantFrom(...(Object.keys(QUESTIONS) as Question["name"][])),
    of: name,
    pricesOf: name,
    factor: name.filter(Boolean),
  })
  .map((each) => ({
    ...each,
    pricesOf: each.name === "prices_of" ? each.pricesOf : "",
    factor: each.name === "factor" ? each.factor : "2",
  }));

const answer = (changed: Partial<WhatIf>): WhatIf => ({
  billed: usd(4e9),
  actual: usd(4e9),
  changed: usd(6e9),
  num_requests: 8,
  num_unpriced_actual: 0,
  num_unpriced: 0,
  unknown: "",
  models: ["large"],
  used_models: ["large"],
  ...changed,
});

describe("a question", () => {
  it("is kept by the address", () =>
    fc.assert(
      fc.property(question, (given) => {
        expect(questionOf(textOf(given))).toEqual(given);
      }),
    ));

  it("is the usual one where the text means nothing", () => {
    expect(fc.sample(fc.string(), 50).map((text) => questionOf(`x${text}`))).toEqual(Array(50).fill(USUAL));
    expect(textOf(USUAL)).toBe("");
  });

  it("asks the API with its own parameters only", () =>
    expect(whatIfQuery("first=a", { ...USUAL, name: "factor", of: "m", factor: "3" }).toString()).toBe(
      "first=a&question=factor&of=m&factor=3",
    ));
});

describe("an answer", () => {
  it("has a line per currency", () => {
    expect(linesOf(answer({ changed: [...usd(3e9), { currency: "EUR", nano: 1e9 }] }))).toEqual([
      { actual: "€0.00", changed: "€1.00", difference: "+€1.00" },
      { actual: "$4.00", changed: "$3.00", difference: "\u2212$1.00, \u221225\u00a0%" },
    ]);
    expect(linesOf(answer({ changed: usd(4e9) }))[0]!.difference).toBe("no difference");
  });

  it("is unknown with its reason", () => {
    const unknown = answer({ changed: null, unknown: "No hashes." });
    expect(linesOf(unknown)).toEqual([{ actual: "$4.00", changed: "unknown", difference: "" }]);
    expect(notesOf(unknown)).toEqual(["No hashes."]);
  });

  it("counts requests without a price, and tells of a changed price list", () => {
    expect(notesOf(answer({ num_unpriced: 1 }))).toEqual([
      "1 of 8 requests could not be priced and is in no amount.",
    ]);
    expect(notesOf(answer({ num_unpriced_actual: 2 }))[0]).toContain("2 of 8 requests had no price");
    expect(notesOf(answer({ billed: usd(1e9) }))[0]).toContain("$1.00 was billed at the time.");
  });
});
