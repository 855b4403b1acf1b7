import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { apart, linesOf, sparkOf } from "./lines";
import { labelled, stacksOf } from "./stacks";

const HEIGHT = 200;
const values = fc.array(fc.nat({ max: 1e12 }), { minLength: 5, maxLength: 5 });
const series = fc.array(values, { minLength: 1, maxLength: 7 });
const EPSILON = 1e-6;

describe("stacked bars", () => {
  it("fill the height of their totals without a gap, inside the box", () =>
    fc.assert(
      fc.property(series, values, (given, before) => {
        const { bars, ticks } = stacksOf(given, before, 500, HEIGHT);
        const top = ticks.at(-1)!.value;
        for (const { x, width, total, segments } of bars) {
          expect(x).toBeGreaterThanOrEqual(0);
          expect(x + width).toBeLessThanOrEqual(500 + EPSILON);
          let bottom = HEIGHT;
          for (const { y, height } of segments) {
            expect(y + height).toBeCloseTo(bottom, 6);
            bottom = y;
          }
          expect(bottom).toBeGreaterThanOrEqual(-EPSILON);
          expect((HEIGHT - bottom) / HEIGHT).toBeCloseTo(total / Math.max(top, total, ...before), 0);
        }
      }),
    ));

  it("have a scale where there is nothing, and leave out parts of nothing", () => {
    const { bars, ticks, before } = stacksOf([[0, 0]], [], 100, HEIGHT);
    expect(bars.map(({ segments }) => segments)).toEqual([[], []]);
    expect(ticks[0]).toEqual({ value: 0, y: HEIGHT });
    expect(before).toBe("");
    expect(stacksOf([], [], 100, HEIGHT).bars).toEqual([]);
  });

  it("end their line with the last bar, where the period before had more parts", () => {
    const { before, bars } = stacksOf([[1, 2]], [1, 2, 3], 100, HEIGHT);
    expect(before.match(/[ML]/g)).toHaveLength(bars.length);
  });

  it("name as many parts as have room", () => {
    expect(labelled(30, 20, 60)).toEqual([0, 3, 6, 9, 12, 15, 18, 21, 24, 27]);
    expect(labelled(3, 100, 60)).toEqual([0, 1, 2]);
    expect(labelled(0, 0, 60)).toEqual([]);
  });
});

describe("lines", () => {
  it("break where nothing is known, and show a lone point", () => {
    const { paths, lone } = linesOf([[1, 2, null, 3, null]], 100, HEIGHT);
    expect(paths[0]!.match(/M/g)).toHaveLength(2);
    expect(lone[0]).toHaveLength(1);
    expect(linesOf([[null, null]], 100, HEIGHT).paths).toEqual([""]);
    expect(sparkOf([null], 100, 20)).toEqual({ line: "", ground: "" });
  });

  it("have labels that do not overlap and keep their order", () =>
    fc.assert(
      fc.property(
        fc.array(fc.float({ min: 0, max: 200, noNaN: true }), { minLength: 3, maxLength: 3 }),
        (ys) => {
          const placed = apart(ys, 15, 200);
          const order = [0, 1, 2].sort((one, other) => placed[one]! - placed[other]!);
          for (let rank = 1; rank < 3; rank += 1) {
            expect(placed[order[rank]!]! - placed[order[rank - 1]!]!).toBeGreaterThanOrEqual(15 - EPSILON);
            expect(ys[order[rank]!]!).toBeGreaterThanOrEqual(ys[order[rank - 1]!]!);
          }
          expect(Math.max(...placed)).toBeLessThanOrEqual(200);
        },
      ),
    ));
});
