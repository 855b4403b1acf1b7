import { expect, it } from "vitest";
import { changeOf, enteredOf, previewText } from "./rules";

const groups = [
  { group: "guests", num_users: 2, keep_days: 7 },
  { group: "staff", num_users: 1, keep_days: null },
];

it("sends the rules that are set, and none that is no number of days", () => {
  const entered = enteredOf({ keep_days: null, groups, num_traces: 5 });
  expect(entered).toEqual({ days: null, groups: { guests: 7, staff: null } });
  expect(changeOf(entered)).toEqual({ keep_days: null, groups: { guests: 7 } });
  expect(changeOf({ ...entered, days: 90 })).toEqual({ keep_days: 90, groups: { guests: 7 } });
  for (const days of [0, 1.5, 3651, NaN]) expect(changeOf({ ...entered, days })).toBeNull();
});

it("tells what the rules would take", () => {
  expect(previewText({ num_traces: 0, num_users: 0, num_pinned: 0 }, 5)).toBe(
    "These rules would delete none of 5 traces now.",
  );
  expect(previewText({ num_traces: 1200, num_users: 1, num_pinned: 1 }, 5000)).toBe(
    "These rules would delete 1,200 of 5,000 traces, of 1 user. 1 of them is pinned.",
  );
});
