import { expect, it } from "vitest";
import type { AuditEntry } from "../../protocol/api";
import { daysOf, nameText, timeText, valueText } from "./words";

const entry = (id: number, at: string): AuditEntry => ({
  id,
  at,
  actor: "root",
  action: "changed",
  subject_kind: "price",
  subject_id: "1",
  subject: "m",
  changes: [],
  note: "",
});

it("groups entries by the reader's days", () => {
  const entries = [
    entry(3, "2026-11-23T00:30:00Z"),
    entry(2, "2026-11-22T23:30:00Z"),
    entry(1, "2026-11-22T10:00:00Z"),
  ];
  expect(daysOf(entries, "UTC").map(({ name, entries }) => [name, entries.map(({ id }) => id)])).toEqual([
    ["Monday, November 23, 2026", [3]],
    ["Sunday, November 22, 2026", [2, 1]],
  ]);
  expect(daysOf(entries, "Europe/Berlin").map(({ entries }) => entries.length)).toEqual([2, 1]);
  expect(daysOf([])).toEqual([]);
});

it("writes times, names and values", () => {
  expect(timeText("2026-11-22T23:30:05Z", "Europe/Berlin")).toBe("00:30:05");
  expect(nameText("unit_price_nano")).toBe("unit price nano");
  expect([null, "", "0"].map(valueText)).toEqual(["–", "(empty)", "0"]);
});
