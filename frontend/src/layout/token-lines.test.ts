import fc from "fast-check";
import { expect, test } from "vitest";
import { MOST_BITS, tokenLines, type WrittenToken } from "./token-lines";

const tokens = fc.array(
  fc.record({
    label: fc.stringMatching(/^[a-z·↵]{0,12}$/),
    bits: fc.option(fc.double({ min: 0, max: 40, noNaN: true })),
  }),
  { maxLength: 120 },
);
const areas = fc.record({
  x: fc.integer({ min: 0, max: 50 }),
  y: fc.integer({ min: 0, max: 50 }),
  width: fc.integer({ min: 60, max: 900 }),
  height: fc.integer({ min: 60, max: 500 }),
});

test("what is shown lies within its area, the newest token always", () => {
  fc.assert(
    fc.property(tokens, areas, (written, area) => {
      const { shapes } = tokenLines(written, area);
      for (const shape of shapes) {
        const [x, y] = shape.kind === "line" ? [shape.x1, shape.y1] : [shape.x, shape.y];
        expect(x).toBeGreaterThanOrEqual(area.x - 1);
        expect(x).toBeLessThanOrEqual(area.x + area.width);
        expect(y).toBeGreaterThanOrEqual(area.y - 0.01);
        expect(y).toBeLessThanOrEqual(area.y + area.height + 0.01);
      }
      if (written.length) expect(shapes.map(({ key }) => key)).toContain(`word-${written.length - 1}`);
    }),
  );
});

test("a bar is the higher the more a token surprises, up to the most that is drawn", () => {
  const heightOf = (bits: number) => {
    const { shapes } = tokenLines([{ label: "a", bits }], { x: 0, y: 0, width: 100, height: 100 });
    const bar = shapes.find(({ key }) => key === "bar-0")!;
    return bar.kind === "box" ? bar.height : 0;
  };
  expect(heightOf(1)).toBeLessThan(heightOf(6));
  expect(heightOf(MOST_BITS)).toBe(heightOf(3 * MOST_BITS));
});

test("a token of unknown surprise has no bar, but a dashed line", () => {
  const token: WrittenToken = { label: "a", bits: null };
  const { shapes } = tokenLines([token], { x: 0, y: 0, width: 100, height: 100 });
  expect(shapes.map(({ kind }) => kind)).toEqual(["line", "text"]);
});
