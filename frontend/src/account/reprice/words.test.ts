import { expect, it } from "vitest";
import type { RepricedRow } from "../../protocol/api";
import { csvOf } from "../../charts/tables/csv";
import { differenceWords, rangeWords, sumsOf, tableOf, unknownWords } from "./words";

const USAGE = { uncached_input: 5, cache_read: 16, cache_write_5m: 0, cache_write_1h: 32, output: 9 };
const ROW: RepricedRow = {
  model: "m",
  user_id: 1,
  key_id: 2,
  currency: "USD",
  num_requests: 3,
  billed_nano: 1_000_000_000,
  least_nano: 900_000_000,
  most_nano: 1_200_000_000,
  least: USAGE,
  most: USAGE,
  num_unknown: 1,
  unknown_nano: 5,
  user: "alice",
  key: "=agent",
};

it("adds up amounts of one currency alone", () => {
  const other = { ...ROW, currency: "EUR" };
  expect(sumsOf([ROW, ROW, other]).map(({ currency, most }) => [currency, most])).toEqual([
    ["USD", 2_400_000_000],
    ["EUR", 1_200_000_000],
  ]);
});

it("says a range where the traces leave it open, and one amount where not", () => {
  expect(rangeWords(1e9, 1e9, "USD")).toBe("$1.00");
  expect(rangeWords(1e9, 2e9, "USD")).toBe("$1.00 to $2.00");
});

it("says the difference with its sign and share", () => {
  expect(differenceWords(1e9, 1.5e9, "USD")).toBe("+$0.50 (+50 %)");
  expect(differenceWords(2e9, 1e9, "USD")).toBe("−$1.00 (−50 %)");
  expect(differenceWords(0, 1e9, "USD")).toBe("+$1.00");
});

it("counts what is unknown, and has exact amounts in its file", () => {
  expect(unknownWords([ROW])).toContain("1 request is not compared");
  expect(unknownWords([])).toContain("Every request");
  const csv = csvOf(tableOf([ROW], true));
  expect(csv).toContain("m,alice,'=agent,USD,3,1,0.9,1.2,0.2,1,5,16,0,32,9");
});
