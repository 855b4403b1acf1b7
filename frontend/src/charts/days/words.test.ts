import { expect, it } from "vitest";
import type { Pace } from "../../protocol/api";
import { paceText, thinkingText } from "./words";

const PACE: Pace = {
  currency: "USD",
  spent_nano: 3e9,
  projected_nano: 9e9,
  days_elapsed: 10,
  days_of_month: 30,
  budget_nano: 10e9,
  formula: "spent / days elapsed * days of the month",
};

it("states the projection as one, against the budget where there is one", () => {
  expect(paceText(PACE)).toBe(
    "$3.00 is spent this month; at this pace $9.00 by its end (a projection), 90 % of the budget of $10.00.",
  );
  expect(paceText({ ...PACE, budget_nano: null })).toBe(
    "$3.00 is spent this month; at this pace $9.00 by its end (a projection).",
  );
});

it("tells thinking that was not recorded from none", () => {
  expect([null, 0, 1200].map((thinking) => thinkingText({ thinking }))).toEqual(["–", "0", "1,200"]);
});
