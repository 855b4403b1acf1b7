import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, it } from "vitest";
import { dryPenalties, type DrySettings } from "./dry";
import { PARAMS } from "../fixtures";

/** The penalty that the engine's own stage gave each token, written by tests/golden/record_dry.py. */
const CASES = JSON.parse(
  readFileSync(
    new URL("../../../../tests/golden/dry.json", `file://${import.meta.dirname}/`).pathname,
    "utf8",
  ),
) as { pieces: string[]; cases: { settings: DrySettings; output: number[]; penalties: number[] }[] };

const PIECES = ["a", "b", ":", "é"].map((text) => Buffer.from(text).toString("base64"));

it("takes from each token what the engine takes", () => {
  for (const { settings, output, penalties } of CASES.cases) {
    const found = dryPenalties(settings, output, (id) => CASES.pieces[id])!;
    CASES.pieces.forEach((_, id) => expect(found.get(id) ?? 0).toBeCloseTo(penalties[id]!, 3));
  }
  expect(CASES.cases.filter(({ penalties }) => penalties.some((each) => each > 0)).length).toBeGreaterThan(
    30,
  );
});

it("penalises only what would extend a sequence that is there, and never a breaker", () => {
  const settings: DrySettings = { ...PARAMS, dry_multiplier: 1 };
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 40 }), (output) => {
      const text = output.join("");
      for (const [id, penalty] of dryPenalties(settings, output, (id) => PIECES[id])!) {
        expect(text.slice(0, -1)).toContain(text.slice(-settings.dry_allowed_length));
        expect(text).toContain(text.slice(-settings.dry_allowed_length) + id);
        expect(penalty).toBeGreaterThanOrEqual(1);
        expect(id).not.toBe(2);
      }
    }),
  );
});

it("does not guess where the bytes are not known or were taken out", () => {
  const settings: DrySettings = { ...PARAMS, dry_multiplier: 1 };
  expect(dryPenalties(settings, [0, 1, 0], () => undefined)).toBeNull();
  expect(dryPenalties(settings, [0, 1, 0], () => Buffer.from("\u25ae ").toString("base64"))).toBeNull();
  expect(dryPenalties({ ...settings, dry_sequence_breakers: [] }, [0, 1, 2, 0, 1], () => undefined)).toEqual(
    new Map([[2, 1]]),
  );
});
