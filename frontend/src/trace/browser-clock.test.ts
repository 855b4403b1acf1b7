import { expect, it } from "vitest";
import { correctionOf, offsetText } from "./browser-clock";

const client = (clock_offset_us: number | null, clock_offset_error_us: number | null) => ({
  clock_offset_us,
  clock_offset_error_us,
});

it("shifts no time by an offset that may be none", () => {
  expect(correctionOf(client(9_900, 10_200))).toBe(0);
  expect(correctionOf(client(-2_000, 2_000))).toBe(0);
  expect(correctionOf(client(-90_000, 10_000))).toBe(-90_000);
  expect(correctionOf(client(9_900, null))).toBe(9_900);
  expect(correctionOf(client(null, null))).toBeNull();
});

it("shows the bound", () => {
  expect(offsetText(client(9_900, 10_200), "none")).toContain("±");
  expect(offsetText(client(9_900, null), "none")).not.toContain("±");
  expect(offsetText(null, "not compared")).toBe("not compared");
});
