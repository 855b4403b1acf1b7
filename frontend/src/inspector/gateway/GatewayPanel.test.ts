// @vitest-environment jsdom
import { afterEach, expect, it } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import type { AnyEvent, Limit } from "../../protocol/events";
import { ACCEPTED, ended, foldAll } from "../../trace/fixtures";
import GatewayPanel from "./GatewayPanel.svelte";

let panel: object;
afterEach(() => unmount(panel));

const OWN = { subject: "user", reset_unix_us: null, currency: "" } as const;
const LIMITS: Limit[] = [
  { ...OWN, name: "concurrency", limit: 8, remaining: 8, num_taken: 1, refill_per_s: 0 },
  { ...OWN, name: "output_tokens", limit: 6000, remaining: 500, num_taken: 300, refill_per_s: 100 },
];

function shown(limits: Limit[], events: AnyEvent[], at: number): string {
  const checked: AnyEvent = {
    type: "gateway.checked",
    at: 1_000_000,
    principal: "user:1",
    limits,
    duration_us: 5,
  };
  const view = { ...foldAll([ACCEPTED, checked, ...events]), at };
  panel = mount(GatewayPanel, { target: document.body, props: { view } });
  flushSync();
  return document.body.textContent.replace(/\s+/g, " ");
}

it("shows the level at the moment looked at, place by place where there are few", () => {
  const text = shown(LIMITS, [], 3_000_000);
  expect(text).toContain("7 of 8 requests left");
  expect(document.querySelectorAll(".few .left").length).toBe(7);
  expect(document.querySelectorAll(".few .held").length).toBe(1);
  expect(text).toContain("400 of 6,000 tokens left");
  expect(text).toContain("+100 a second: full again in 56");
});

it("gives the place back when the request has ended", () => {
  const text = shown(LIMITS, ended("stop"), 3_000_000);
  expect(text).toContain("8 of 8 requests left");
  expect(document.querySelectorAll(".few .held").length).toBe(0);
});

it("says of an older trace what is not recorded, and computes nothing", () => {
  const old = { name: "concurrency", limit: 8, remaining: 8, reset_unix_us: null };
  const text = shown([old as Limit], [], 3_000_000);
  expect(text).toContain("8 of 8 requests left");
  expect(text).toContain("not recorded");
  expect(text).not.toContain("Computed");
});

it("tells which limit binds first, and whose it is", () => {
  const shared: Limit = {
    ...LIMITS[1]!,
    name: "requests",
    subject: "group",
    limit: 60,
    remaining: 3,
    num_taken: 1,
  };
  const text = shown([LIMITS[0]!, shared, LIMITS[1]!], [], 1_000_000);
  expect(text).toContain("requests in a minute, of the group together");
  expect(document.querySelectorAll("[data-testid=binds-first]").length).toBe(1);
  expect(text).toContain("binds first: room for 0 more such requests");
});

it("holds the most that a request may cost until its bill is there", () => {
  const budget: Limit = {
    ...OWN,
    name: "daily_budget",
    limit: 2e9,
    remaining: 1.5e9,
    num_taken: 0.25e9,
    refill_per_s: 0,
    currency: "USD",
  };
  const text = shown([budget], [], 1_000_000);
  expect(text).toContain("$1.25 of $2.00 left");
  expect(text).toContain("$0.25 is reserved");
});
