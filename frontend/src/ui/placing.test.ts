import { expect, it } from "vitest";
import { GAP, placed } from "./placing";

const button = (left: number, top: number) => ({ left, top, right: left + 60, bottom: top + 30 });
const column = { left: 260, top: 0, right: 760, bottom: 800 };

it("opens below its button, with equal right edges", () => {
  expect(placed(button(600, 100), column, { width: 300, height: 200 })).toEqual({
    left: 360,
    top: 130 + GAP,
    maxHeight: 800 - 130 - 2 * GAP,
  });
});

it("stays within its column", () => {
  for (const left of [262, 300, 500, 699]) {
    const { left: at } = placed(button(left, 100), column, { width: 416, height: 200 });
    expect(at).toBeGreaterThanOrEqual(column.left + GAP);
    expect(at + 416).toBeLessThanOrEqual(column.right - GAP);
  }
});

it("opens above a button at the lower edge, and never covers it", () => {
  const place = placed(button(600, 740), column, { width: 300, height: 2000 });
  expect(place).toEqual({ left: 360, top: GAP, maxHeight: 740 - 2 * GAP });
});
