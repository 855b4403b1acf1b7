import fc from "fast-check";
import { expect, it } from "vitest";
import type { PricePreview } from "../../protocol/api";
import { nanoOf, perMillion, sentencesOf } from "./words";

const PREVIEW: PricePreview = {
  model: "large",
  first: "2026-10-25",
  last: "2026-11-23",
  num_requests: 40,
  num_unpriced: 0,
  billed: [{ currency: "USD", nano: 9_800_000_000 }],
  would_cost: { currency: "USD", nano: 12_400_000_000 },
  users: [
    { user_id: 1, name: "anna", billed_nano: 5_000_000_000, would_cost_nano: 7_000_000_000 },
    { user_id: 2, name: "bob", billed_nano: 4_800_000_000, would_cost_nano: 5_400_000_000 },
  ],
  applies_until: null,
  doubts: [],
};

it("reads back each price that it writes", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 100_000_000 }), (nano) => {
      expect(nanoOf(perMillion(nano))).toBe(nano);
    }),
  );
});

it.each([
  ["0.15", 150],
  [" 3 ", 3000],
  ["0", 0],
  ["0.07", 70],
  ["1.005", 1005],
])("reads %s", (written, nano) => expect(nanoOf(written)).toBe(nano));

it.each([
  ["", "Enter a price; 0 means free."],
  ["-1", "A price cannot be negative. Enter 0 for tokens that cost nothing."],
  ["0.0001", "Use at most three digits after the point."],
  ["1,50", "Write a plain number with a point, such as 0.15."],
  ["1e3", "Write a plain number with a point, such as 0.15."],
  ["NaN", "Write a plain number with a point, such as 0.15."],
  ["0x10", "Write a plain number with a point, such as 0.15."],
])("says what is wrong with “%s”", (written, words) => expect(nanoOf(written)).toBe(words));

it("says what the last days would have cost, and which user it concerns most", () => {
  expect(sentencesOf(PREVIEW)).toEqual([
    "The last 30 days would have cost $12.40 instead of $9.80, +27\u00a0%.",
    "Most of it comes from user anna.",
  ]);
});

it("compares no currencies, and tells unpriced requests apart", () => {
  const preview = { ...PREVIEW, would_cost: { currency: "EUR", nano: 3e9 }, num_unpriced: 2, users: [] };
  expect(sentencesOf(preview)).toEqual([
    "The last 30 days would have cost €3.00.",
    "2 requests of these had no price, and their bills stay so.",
    "$9.80 were billed in another currency. Currencies are not added up.",
  ]);
});

it("says that nothing was used, or that nothing changes", () => {
  expect(sentencesOf({ ...PREVIEW, num_requests: 0, doubts: ["All tokens are free."] })).toEqual([
    "No request of the last 30 days used a token.",
    "All tokens are free.",
  ]);
  const same = { ...PREVIEW, would_cost: PREVIEW.billed[0]!, users: [] };
  expect(sentencesOf(same)).toEqual(["The last 30 days would have cost $9.80, as billed."]);
});
