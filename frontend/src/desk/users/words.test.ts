import { expect, it } from "vitest";
import type { LimitsBody, LimitsInForce } from "../../protocol/api";
import { figures, usd } from "../../charts/fixtures";
import { signedInText, concernedText, costText, inForce, ruleText, stoppedText, tokensText } from "./words";
import { amountOf, writtenOf } from "../../account/limits/amounts";

const NOTHING: LimitsBody = {
  max_open: null,
  requests_per_minute: null,
  input_tokens_per_minute: null,
  output_tokens_per_minute: null,
  tokens_per_day: null,
  daily_budget_nano: null,
  monthly_budget_nano: null,
  may_share: null,
  may_probe: null,
  may_rerun: null,
};

it("says what a rule names, and nothing of the rest", () => {
  expect(ruleText(NOTHING)).toBe("");
  expect(ruleText({ ...NOTHING, requests_per_minute: 6000, may_share: false })).toBe(
    "6,000 requests a minute, share traces by links: no",
  );
});

it("says each limit in force with the rule that decided", () => {
  const limits: LimitsInForce = {
    max_open: 8,
    requests_per_minute: 5,
    input_tokens_per_minute: null,
    output_tokens_per_minute: null,
    tokens_per_day: null,
    daily_budget_nano: 2.5e9,
    monthly_budget_nano: null,
    may_share: true,
    may_probe: false,
    may_rerun: true,
    sources: { max_open: "product", requests_per_minute: "user", may_probe: "group" },
  };
  const found = inForce(limits);
  expect(found).toContainEqual({ name: "Requests at once", value: "8", from: "default" });
  expect(found).toContainEqual({ name: "Requests a minute", value: "5", from: "set for this user" });
  expect(found).toContainEqual({ name: "Budget of a day", value: "2.50", from: "" });
  expect(found).toContainEqual({ name: "Tokens a day", value: "no limit", from: "" });
  expect(found).toContainEqual({ name: "Look into the model", value: "switched off", from: "from a group" });
});

it.each([
  ["", null],
  [" 12 ", 12],
  ["10,000", 10_000],
])("reads “%s”", (written, value) => expect(amountOf("requests_per_minute", written)).toBe(value));

it.each([
  ["2.5", 2.5e9],
  ["0.000000001", 1],
  ["1,000", 1e12],
])("reads a budget of “%s” in units of the currency", (written, nano) => {
  expect(amountOf("daily_budget_nano", written)).toBe(nano);
  expect(amountOf("daily_budget_nano", writtenOf("daily_budget_nano", nano))).toBe(nano);
});

it.each(["0", "0.00", "-1", "1e3", "0.0000000001", "1000001"])("refuses a budget of “%s”", (written) =>
  expect(amountOf("daily_budget_nano", written)).toContain("Enter an amount up to 1,000,000.00"),
);

it.each(["0", "-1", "1.5", "10001", "1e3", "many", "999999999999999999999"])("refuses “%s”", (written) =>
  expect(amountOf("requests_per_minute", written)).toBe("Enter a whole number from 1 to 10,000, or nothing."),
);

it("never shows an unknown cost as nothing", () => {
  expect(costText(figures())).toBe("–");
  expect(costText(figures({ num_unpriced: 2 }))).toBe("unpriced");
  expect(costText(figures({ num_unpriced: 2, cost: usd(1e9) }))).toBe("$1.00 + 2 unpriced");
  expect(tokensText(figures({ uncached_input: 1000, cache_read: 200, output: 34 }))).toBe("1,234");
});

it("tells how many requests were stopped", () => {
  expect(stoppedText("anna", 1, 0)).toBe("anna is stopped. 1 running request was stopped.");
  expect(stoppedText("anna", 0, 0)).toBe("anna is stopped. 0 running requests were stopped.");
  expect(stoppedText("anna", 3, 1)).toBe(
    "anna is stopped. 3 running requests and 1 set of runs were stopped.",
  );
});

it("tells whom the stop of a group concerns", () => {
  const concerned = { num_users: 2, users: ["<b>anna</b>", "bob"], num_requests: 0, num_sets: 0 };
  expect(concernedText(concerned)).toBe(
    "It stops 2 users: <b>anna</b>, bob. None of their requests is open.",
  );
  expect(concernedText({ ...concerned, num_users: 1200, num_requests: 3, num_sets: 1 })).toBe(
    "It stops 1,200 users: <b>anna</b>, bob and 1,198 more. Ends at once: 3 open requests and 1 set of runs.",
  );
  expect(concernedText({ ...concerned, num_users: 0, users: [] })).toContain("no members");
});

it("tells an operator whom an end concerns", () => {
  expect(signedInText("anna", { num: 0, last_seen: null })).toBe("anna is signed in nowhere.");
  expect(signedInText("anna", { num: 2, last_seen: "2026-03-01T12:00:00Z" })).toMatch(
    /^anna has 2 sign-ins, last used Mar 1, /,
  );
});
