import { expect, it } from "vitest";
import { figures, reportOf, usd } from "../fixtures";
import { csvOf } from "../tables/csv";
import { groupHref, type Leads } from "./leads";
import { USUAL } from "../address/address";
import { fullNames, narrowed, shortNames } from "../address/parts";
import { speedTable, usersTable, useTable, wholeTable } from "./tables";

it("has a row per part, with the sum of its groups and the period before", () =>
  expect(csvOf(useTable(reportOf(), "cost", "USD"))).toBe(
    [
      "Day,large,All (USD),Period before",
      '"Fri, Oct 23",2,2,2',
      '"Sat, Oct 24",0,0,0',
      '"Sun, Oct 25",2,2,0',
      "",
    ].join("\r\n"),
  ));

it("writes a hostile name as a text", () => {
  const csv = csvOf(usersTable(reportOf()));
  expect(csv.split("\r\n")[1]).toMatch(/^'=alice,4,/);
});

it("has every group of every part, with a column per currency", () => {
  const now = figures({ num_requests: 1, cost: [...usd(1), { currency: "EUR", nano: 2 }] });
  const { columns, rows } = wholeTable(reportOf({ now }));
  expect(rows).toHaveLength(3);
  expect(columns.map(({ name }) => name).slice(-4)).toEqual([
    "Cost EUR",
    "Saved EUR",
    "Cost USD",
    "Saved USD",
  ]);
  expect(rows.every((row) => row.length === columns.length)).toBe(true);
});

it("leaves an unknown time empty", () =>
  expect(csvOf(speedTable(reportOf(), "queue_us")).split("\r\n")[1]).toBe('"Fri, Oct 23",0,,,'));

it("narrows a bar to its day or month, or to an hour of its day", () => {
  const report = reportOf();
  const whole = { weekday: "", hour: "" };
  expect(narrowed(report, 1)).toEqual({ ...whole, period: { first: "2026-10-24", last: "2026-10-24" } });
  const starts = ["2026-10-23T22:00:00Z", "2026-10-23T23:00:00Z"];
  const hours = { ...report, unit: "hour" as const, counted_in: "Europe/Berlin", starts };
  expect(narrowed(hours, 1)).toEqual({
    ...whole,
    period: { first: "2026-10-24", last: "2026-10-24" },
    hour: "1",
  });
  const months = {
    ...report,
    unit: "month" as const,
    first: "2026-09-10",
    last: "2026-11-05",
    starts: ["2026-09-10T00:00:00Z", "2026-10-01T00:00:00Z", "2026-11-01T00:00:00Z"],
  };
  expect([0, 1, 2].map((part) => narrowed(months, part).period)).toEqual([
    { first: "2026-09-10", last: "2026-09-30" },
    { first: "2026-10-01", last: "2026-10-31" },
    { first: "2026-11-01", last: "2026-11-05" },
  ]);
  expect(shortNames(months)).toEqual(["Sep 2026", "Oct 2026", "Nov 2026"]);
});

it("names days in the zone in which they are counted", () => {
  const starts = ["2026-10-23T22:00:00Z"];
  expect(fullNames({ ...reportOf(), starts, counted_in: "Europe/Berlin" })).toEqual(["Sat, Oct 24"]);
});

it("leads to one group, where a filter can name it", () => {
  const leads: Leads = { to: (changed) => JSON.stringify(changed), go: () => {}, toggle: () => {} };
  const group = { ...reportOf(), by: "group" as const, user_groups: [{ key: "a", label: "a" }] };
  expect(groupHref(reportOf(), "large", USUAL, leads)).toBe('{"model":"large"}');
  expect(groupHref(reportOf(), "large", { ...USUAL, model: "large" }, leads)).toBeNull();
  expect(groupHref(reportOf(), "", USUAL, leads)).toBeNull();
  expect(groupHref(group, "a", USUAL, leads)).toBe('{"group":"a"}');
  expect(groupHref(group, "a, b", USUAL, leads)).toBeNull();
});
