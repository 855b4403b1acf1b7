import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  apiQuery,
  BYS,
  choicesOf,
  isFiltered,
  MEASURES,
  ORDERS,
  periodProblem,
  queryOf,
  TABLES,
  TIMES,
  USUAL,
  within,
  type Choices,
} from "./address";
import { PERIODS } from "./period";

const day = fc
  .date({ min: new Date("1970-01-01"), max: new Date("2999-12-31"), noInvalidDate: true })
  .map((date) => date.toISOString().slice(0, 10));
const keyOf = <Words extends object>(words: Words) =>
  fc.constantFrom(...(Object.keys(words) as (keyof Words)[]));
const choices: fc.Arbitrary<Choices> = fc.record({
  period: fc.oneof(keyOf(PERIODS), fc.record({ first: day, last: day })),
  by: keyOf(BYS),
  measure: keyOf(MEASURES),
  currency: fc.constantFrom("", "USD", "EUR"),
  time: keyOf(TIMES),
  order: keyOf(ORDERS),
  zone: fc.constantFrom("", "UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires"),
  model: fc.string(),
  surface: fc.string(),
  status: fc.string(),
  code: fc.string(),
  verdict: fc.string(),
  weekday: fc.constantFrom("", "0", "6"),
  hour: fc.constantFrom("", "0", "9", "23"),
  user: fc.nat().map(String),
  group: fc.string({ unit: "grapheme" }),
  tables: fc.subarray([...TABLES]),
  whatIf: fc.string(),
});

describe("the address", () => {
  it("keeps every choice", () =>
    fc.assert(
      fc.property(choices, (given) => {
        expect(choicesOf(queryOf(given))).toEqual(given);
      }),
    ));

  it("of the usual choices is empty", () => expect(queryOf(USUAL)).toBe(""));

  it("means something, no matter what was typed", () =>
    fc.assert(
      fc.property(fc.webQueryParameters(), (query) => {
        const found = choicesOf(query);
        expect(choicesOf(queryOf(found))).toEqual(found);
      }),
    ));

  it.each([
    "period=constructor",
    "by=toString",
    "zone=Mars/Olympus",
    "user=1;2",
    "weekday=7",
    "hour=24",
    "hour=03",
    "first=2026-02-30&last=2026-03-01",
  ])("leaves out %s", (query) => expect(choicesOf(query)).toEqual(USUAL));
});

it("asks the API for days, zone, groups and filters", () => {
  const given: Choices = { ...USUAL, period: "7d", by: "user", user: "3", group: "a&b", model: "m" };
  expect(isFiltered(given)).toBe(true);
  expect(apiQuery(given, "2026-11-23", "UTC").toString()).toBe(
    "first=2026-11-17&last=2026-11-23&zone=UTC&by=user&model=m&user=3&group=a%26b",
  );
  expect(apiQuery(within({ kind: "own" }, given), "2026-11-23", "UTC").toString()).toBe(
    "first=2026-11-17&last=2026-11-23&zone=UTC&by=model&model=m",
  );
  expect(apiQuery(within({ kind: "group", group: 7 }, given), "2026-11-23", "UTC").toString()).toBe(
    "first=2026-11-17&last=2026-11-23&zone=UTC&by=user&model=m&user=3",
  );
});

it.each([
  ["first=2026-02-30&last=2026-03-02", "“2026-02-30” in the address is no day, such as 2026-10-24."],
  ["first=2026-03-02", "The address has no last day."],
  ["period=fortnight", "“fortnight” in the address is no period. In place of it you see: 30 days."],
  ["period=7d&first=x&last=2026-03-02", "In place of it you see: 7 days. Choose the period above."],
  [
    "zone=Mars",
    "“Mars” in the address is no time zone, such as Europe/Berlin. You see the days of your own zone.",
  ],
])("says of %s what it does not understand", (query, words) => expect(periodProblem(query)).toContain(words));

it.each(["", "period=7d", "first=2026-03-01&last=2026-03-02&zone=UTC", "first=2026-03-02&last=2026-03-01"])(
  "understands %s",
  (query) => expect(periodProblem(query)).toBe(""),
);
