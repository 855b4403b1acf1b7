import { expect, it } from "vitest";
import {
  addDays,
  dayIn,
  daysOf,
  daysText,
  isDay,
  monthOf,
  numDays,
  PERIODS,
  type PeriodName,
} from "./period";

it.each([
  ["today", "2026-03-01", "2026-03-01"],
  ["yesterday", "2026-02-28", "2026-02-28"],
  ["7d", "2026-02-23", "2026-03-01"],
  ["30d", "2026-01-31", "2026-03-01"],
  ["90d", "2025-12-02", "2026-03-01"],
  ["month", "2026-03-01", "2026-03-01"],
  ["last-month", "2026-02-01", "2026-02-28"],
])("counts %s from the first of March", (period, first, last) =>
  expect(daysOf(period as PeriodName, "2026-03-01")).toEqual({ first, last }),
);

it("has as many days as it says", () => {
  for (const name of ["7d", "30d", "90d"] as const)
    expect(numDays(daysOf(name, "2026-03-30"))).toBe(parseInt(PERIODS[name]));
  expect(addDays("2026-12-31", 1)).toBe("2027-01-01");
  expect(monthOf("2024-02-10")).toEqual({ first: "2024-02-01", last: "2024-02-29" });
});

it("knows the days of the calendar", () => {
  expect(["2026-02-28", "2024-02-29"].every(isDay)).toBe(true);
  expect(["2026-02-29", "2026-13-01", "", "2026-1-1", "2026-10-24x"].some(isDay)).toBe(false);
});

it("has another day elsewhere", () => {
  const instant = new Date("2026-10-24T22:30:00Z");
  expect(["UTC", "Europe/Berlin", "Pacific/Kiritimati"].map((zone) => dayIn(zone, instant))).toEqual([
    "2026-10-24",
    "2026-10-25",
    "2026-10-25",
  ]);
});

it.each([
  ["2026-10-24", "2026-10-24", "Oct 24, 2026"],
  ["2026-10-01", "2026-10-30", "Oct 1 to 30, 2026"],
  ["2026-09-24", "2026-10-23", "Sep 24 to Oct 23, 2026"],
  ["2026-11-20", "2026-11-10", "Nov 20, 2026 to Nov 10, 2026"],
  ["2025-12-30", "2026-01-02", "Dec 30, 2025 to Jan 2, 2026"],
])("says %s to %s as %s", (first, last, text) => expect(daysText({ first, last })).toBe(text));
