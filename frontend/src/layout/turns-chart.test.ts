import fc from "fast-check";
import { expect, it } from "vitest";
import { columns, minWidth, scaleOf } from "./turns-chart";

const value = fc.integer({ min: 0, max: 100_000 });
const stack = fc.option(
  fc
    .array(value, { maxLength: 4 })
    .map((values) => values.map((each, index) => ({ name: `${index}`, value: each }))),
);

it("stands on the ground, never above the top, each part on the one below", () => {
  fc.assert(
    fc.property(fc.array(stack, { minLength: 1, maxLength: 40 }), (stacks) => {
      const totals = stacks.map((parts) => (parts ?? []).reduce((sum, part) => sum + part.value, 0));
      const scale = scaleOf(totals);
      const width = Math.max(600, minWidth(stacks.length));
      const placed = columns(
        stacks.map((parts) => ({ parts })),
        scale,
        width,
        100,
      );
      placed.forEach((column, index) => {
        const heights = column.parts.map(({ height }) => height);
        expect(heights.reduce((sum, each) => sum + each, 0)).toBeCloseTo(
          (totals[index]! / scale.top) * 100,
          4,
        );
        let ground = 100;
        for (const part of column.parts) {
          expect(part.y + part.height).toBeCloseTo(ground, 4);
          ground = part.y;
        }
        expect(ground).toBeGreaterThan(-1e-6);
        expect(column.x + column.width).toBeLessThanOrEqual(width);
        if (index) expect(column.x).toBeGreaterThan(placed[index - 1]!.x + placed[index - 1]!.width);
      });
    }),
  );
});

it("ends at a round number", () => {
  expect(scaleOf([3, 170]).ticks).toEqual([0, 100, 200]);
  expect(scaleOf([1])).toEqual({ top: 1, ticks: [0, 0.5, 1] });
  expect(scaleOf([0])).toEqual({ top: 1, ticks: [0] });
  expect(scaleOf([])).toEqual({ top: 1, ticks: [0] });
});

it("tells nothing known from nothing", () => {
  const [unknown, none] = columns([{ parts: null }, { parts: [] }], scaleOf([1]), 100, 100);
  expect([unknown!.isKnown, none!.isKnown]).toEqual([false, true]);
});
