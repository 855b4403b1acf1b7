import { expect, it } from "vitest";
import { decimal, duration, exactMoney, money, roughly, seconds } from "./format";

it.each([
  [4860, "USD", "$0.00000486"],
  [5000, "USD", "$0.0000050"],
  [0, "USD", "$0.00"],
  [1_500_000_000, "USD", "$1.50"],
  [250_000_000, "EUR", "€0.25"],
  [-4860, "USD", "-$0.00000486"],
  [4860, "credits", "0.00000486\u00a0credits"],
  [4860, "", "0.00000486\u00a0"],
])("tells %i billionths of %j as %s", (nano, currency, text) => expect(money(nano, currency)).toBe(text));

it("tells an amount exactly where the bill is read", () => {
  expect(exactMoney(4_860_123, "USD")).toBe("$0.004860123");
});

it.each([
  [158_000, "0.16\u00a0s"],
  [9_994_000, "9.99\u00a0s"],
  [9_996_000, "10.0\u00a0s"],
])("tells %i µs of waiting as %s", (us, text) => expect(seconds(us)).toBe(text));

it.each([
  [91_800, "92\u00a0ms"],
  [640, "640\u00a0µs"],
  [994_000, "990\u00a0ms"],
  [996_000, "1\u00a0s"],
  [1_340_000, "1.3\u00a0s"],
])("gives %i µs that are only roughly known as %s", (us, text) => expect(roughly(us)).toBe(text));

it("has a minus sign below nothing, and none on a nothing", () => {
  expect([decimal(-1.2484, 3), decimal(-0.0001, 2), decimal(2, 1)]).toEqual(["\u22121.248", "0.00", "2.0"]);
  expect([duration(-39_400), duration(-0.2)]).toEqual(["\u221239.4\u00a0ms", "0\u00a0µs"]);
});
