import { expect, it } from "vitest";
import type { Limit } from "../../protocol/events";
import { resetText, subjectText, warningText } from "./words";

const BUDGET: Limit = {
  name: "monthly_budget",
  subject: "user",
  limit: 10e9,
  remaining: 1.5e9,
  reset_unix_us: Date.UTC(2026, 11, 1) * 1000,
  num_taken: 0,
  refill_per_s: 0,
  currency: "USD",
};

it("warns of a budget that nears its end, and says when it is used up", () => {
  expect(warningText({ limit: BUDGET, is_warned: true })).toEqual([
    "The budget of the month is used up by 85 %: $1.50 of $10.00 is left.",
  ]);
  expect(warningText({ limit: { ...BUDGET, remaining: 0, subject: "group" }, is_warned: true })).toEqual([
    "The budget of the month of the group together is used up: $10.00. Requests that cost money are refused.",
  ]);
  expect(warningText({ limit: BUDGET, is_warned: false })).toEqual([]);
});

it("says when a limit is full again, unless it is", () => {
  expect(resetText(BUDGET)).toContain("full again on ");
  expect(resetText({ ...BUDGET, remaining: BUDGET.limit })).toBe("");
  expect(resetText({ ...BUDGET, name: "requests", currency: "", refill_per_s: 10 })).toBe("");
});

it("names whose requests share a rule", () => {
  const none = { model: "", user_id: null, user: "", group_id: null, group: "", is_of_owners: false };
  const amounts = {
    max_open: null,
    requests_per_minute: null,
    input_tokens_per_minute: null,
    output_tokens_per_minute: null,
    tokens_per_day: null,
    daily_budget_nano: null,
    monthly_budget_nano: null,
  };
  const said = (subject: Partial<typeof none>) =>
    subjectText({ ...none, ...amounts, ...subject }, (id) => id);
  expect(said({})).toBe("All requests of the site");
  expect(said({ model: "m" })).toBe("All requests to m");
  expect(said({ model: "m", user: "alice" })).toBe("alice at m");
  expect(said({ group: "research" })).toBe("Members of research together");
  expect(said({ group: "research", is_of_owners: true })).toBe("Members of research together, by its owners");
});
