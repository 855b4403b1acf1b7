import { expect, it } from "vitest";
import { figures, NOTHING, reportOf, usd } from "../fixtures";
import { leadingText, modelText } from "./leading";

const plain = (text: string) => text.replaceAll("\u00a0", " ");
const leader = {
  user_id: 3,
  name: "=alice",
  now: figures({ num_requests: 10, uncached_input: 600, cache_read: 20, output: 30, cost: usd(8e9) }),
  before: figures({ num_requests: 5, uncached_input: 100, cost: usd(1e9) }),
};
const report = reportOf({
  num_users: 3,
  now: figures({ num_requests: 100, uncached_input: 1000, cache_read: 100, output: 100, cost: usd(16e9) }),
  before: figures({ num_requests: 50, uncached_input: 1000, cost: usd(10e9) }),
  leaders: [leader],
});

it("says by which of the recorded figures the leader leads, beside the period before", () => {
  expect(plain(leadingText(report, "USD"))).toBe(
    "=alice leads with 50.0 % of the cost (10.0 %). Of all use, =alice had 60.0 % of the uncached input (10.0 %), 30.0 % of the output, 20.0 % of the cached input and 10.0 % of the requests (10.0 %). In brackets: the period before.",
  );
  expect(plain(leadingText({ ...report, before: NOTHING }, "USD"))).not.toContain("brackets");
});

it("compares requests where nothing has a price", () =>
  expect(plain(leadingText(report, ""))).toContain(
    "=alice leads with 10.0 % of the requests (10.0 %). Of all use, =alice had 60.0 %",
  ));

it("says nothing of a user who is alone, or spent nothing", () => {
  expect(leadingText({ ...report, num_users: 1 }, "USD")).toBe("");
  expect(leadingText({ ...report, leaders: [] }, "USD")).toBe("");
  expect(leadingText({ ...report, leaders: [{ ...leader, now: NOTHING }] }, "USD")).toBe("");
});

it("sets the leader's dearest model beside all users' use of it", () => {
  const use = (model: string, nano: number, num_requests = 1) => ({
    model,
    now: figures({ num_requests, cost: usd(nano) }),
  });
  const nameOf = (model: string) => (model === "large" ? "Big" : model);
  const all = [use("large", 10e9, 20), use("small", 10e9, 80)];
  expect(plain(modelText({ own: [use("small", 2e9), use("large", 6e9, 9)], all }, "USD", nameOf))).toBe(
    "90.0 % of this user's requests went to Big, and 20.0 % of all users'. It made 75.0 % of this user's cost, and 50.0 % of all users'.",
  );
  expect(modelText({ own: [use("large", 1)], all: [use("large", 1)] }, "USD", nameOf)).toBe("");
  expect(modelText({ own: [use("small", 0)], all }, "USD", nameOf)).toBe("");
});
