import fc from "fast-check";
import { expect, it } from "vitest";
import { dated } from "./dated";

const at = (updated_at: string, is_pinned = false) => ({ updated_at, is_pinned });
const labels = (times: string[], now: string, timeZone: string) =>
  dated(
    times.map((time) => at(time)),
    new Date(now),
    timeZone,
  ).map(({ label }) => label);

it("names the days as a calendar does", () => {
  const times = [
    "2026-11-22T09:00:00Z",
    "2026-11-21T23:59:00Z",
    "2026-11-15T00:00:00Z",
    "2026-11-14T23:00:00Z",
    "2026-10-31T12:00:00Z",
    "2025-11-30T12:00:00Z",
  ];
  expect(labels(times, "2026-11-22T10:00:00Z", "UTC")).toEqual([
    "Today",
    "Yesterday",
    "Previous 7 days",
    "November",
    "October",
    "November 2025",
  ]);
});

it("goes by the reader's own midnight", () => {
  const [time, now] = ["2026-11-22T03:00:00Z", "2026-11-22T20:00:00Z"];
  expect(labels([time], now, "Europe/Berlin")).toEqual(["Today"]);
  expect(labels([time], now, "America/Los_Angeles")).toEqual(["Yesterday"]);
  // The day has 25 hours there.
  expect(labels(["2026-10-25T00:30:00+02:00"], "2026-10-25T23:30:00+01:00", "Europe/Berlin")).toEqual([
    "Today",
  ]);
});

it("puts what is pinned under one name, and what is from tomorrow under today", () => {
  const list = [at("2020-01-01T00:00:00Z", true), at("2026-11-23T00:00:00Z"), at("")];
  const groups = dated(list, new Date("2026-11-22T10:00:00Z"), "UTC");
  expect(groups.map(({ label }) => label)).toEqual(["Pinned", "Today", "Undated"]);
});

it("keeps every conversation once, and the order within a group", () => {
  const time = fc.date({ min: new Date("2000-01-01"), max: new Date("2030-01-01"), noInvalidDate: true });
  fc.assert(
    fc.property(fc.array(fc.tuple(time, fc.boolean())), time, (rows, now) => {
      const list = rows
        .map(([date, is_pinned], index) => ({ index, ...at(date.toISOString(), is_pinned) }))
        .sort(
          (a, b) => Number(b.is_pinned) - Number(a.is_pinned) || b.updated_at.localeCompare(a.updated_at),
        );
      const groups = dated(list, now, "Asia/Kolkata");
      expect(groups.flatMap(({ items }) => items)).toEqual(list);
    }),
  );
});
