import { expect, it } from "vitest";
import type { AlertDelivery, AlertRule } from "../../protocol/api";
import { ruleText, statusText } from "./words";

const RULE: AlertRule = {
  id: 1,
  name: "On call",
  channel: "webhook",
  address: "https://example.org/…",
  kinds: [],
  least_severity: "low",
  is_enabled: true,
  created_at: "2026-11-23T15:00:00Z",
};
const DELIVERY: AlertDelivery = {
  id: 1,
  rule_name: "On call",
  title: "Cost rose.",
  is_test: false,
  status: "sent",
  num_attempts: 1,
  answer: "HTTP 200",
  created_at: "2026-11-23T15:00:00Z",
  attempted_at: "2026-11-23T15:00:00Z",
  due_at: null,
};

it("says what a rule tells of", () => {
  expect(ruleText(RULE)).toBe("Every kind of finding");
  expect(ruleText({ ...RULE, kinds: ["cost", "slow_hours"], least_severity: "high" })).toBe(
    "Cost far above the usual, Slow hours: only the most important",
  );
});

it.each([
  [{}, "sent"],
  [{ num_attempts: 3 }, "sent at attempt 3"],
  [{ status: "failed", num_attempts: 6 }, "failed after 6 attempts"],
  [{ status: "waiting", num_attempts: 0, due_at: "2026-11-23T15:00:00Z" }, "waits"],
] as const)("says of %o: %s", (changed, text) => expect(statusText({ ...DELIVERY, ...changed })).toBe(text));

it("names the next attempt", () =>
  expect(
    statusText({ ...DELIVERY, status: "waiting", num_attempts: 2, due_at: "2026-11-23T15:00:00Z" }),
  ).toMatch(/^waits for attempt 3 at Nov 2\d, \d\d:00$/));
