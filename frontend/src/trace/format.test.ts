import { expect, it } from "vitest";
import { exactMoney, money, seconds } from "./format";

it.each([
  [4860, "USD", "$0.0000049"],
  [5000, "USD", "$0.0000050"],
  [0, "USD", "$0.00"],
  [1_500_000_000, "USD", "$1.50"],
  [250_000_000, "EUR", "€0.25"],
  [-4860, "USD", "-$0.0000049"],
  [4860, "credits", "0.0000049\u00a0credits"],
  [4860, "", "0.0000049\u00a0"],
])("tells %i billionths of %j as %s", (nano, currency, text) => expect(money(nano, currency)).toBe(text));

it("tells an amount exactly where the bill is read", () => {
  expect(exactMoney(4_860_123, "USD")).toBe("0.004860123\u00a0USD");
});

it.each([
  [158_000, "0.16\u00a0s"],
  [9_994_000, "9.99\u00a0s"],
  [9_996_000, "10.0\u00a0s"],
])("tells %i µs of waiting as %s", (us, text) => expect(seconds(us)).toBe(text));
