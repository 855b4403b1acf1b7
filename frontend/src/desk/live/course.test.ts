import fc from "fast-check";
import { expect, it } from "vitest";
import {
  blocksCourse,
  blocksUsed,
  courseOf,
  hitCourse,
  hitRate,
  NUM_PARTS,
  PART_MS,
  startsOf,
  summed,
  WINDOW_MS,
  withPoint,
} from "./course";
import { NOW_MS, pointOf, workerOf } from "./fixtures";

const starts = startsOf(NOW_MS);
const last = NUM_PARTS - 1;

it("covers fifteen minutes up to the part that is not over", () => {
  expect(starts).toHaveLength(NUM_PARTS);
  expect(starts[last]! <= NOW_MS && NOW_MS < starts[last]! + PART_MS).toBe(true);
  expect(starts[last]! - starts[0]!).toBe(WINDOW_MS - PART_MS);
});

it("draws the mean of a part, and a gap where nothing is known", () => {
  const points = [
    pointOf({ at_ms: starts[last - 2]!, decode_per_s: 10 }),
    pointOf({ at_ms: starts[last - 2]! + 1000, decode_per_s: 30 }),
    pointOf({ at_ms: starts[last]!, decode_per_s: null }),
    pointOf({ at_ms: starts[last]! + 1, decode_per_s: 8 }),
  ];
  expect(courseOf(points, starts, (point) => point.decode_per_s).slice(-3)).toEqual([20, null, 8]);
});

it("keeps an unknown value unknown, and a zero a zero", () => {
  const at = (decode_per_s: number | null) =>
    courseOf([pointOf({ at_ms: starts[0]!, decode_per_s })], starts, (point) => point.decode_per_s)[0];
  expect(at(null)).toBeNull();
  expect(at(0)).toBe(0);
});

it("counts the hit rate in tokens, not as a mean of rates", () => {
  const points = [
    pointOf({ at_ms: starts[last]!, num_queried: 100, num_hit: 90 }),
    pointOf({ at_ms: starts[last]! + 1, num_queried: 900, num_hit: 10 }),
    pointOf({ at_ms: starts[last]! + 2, num_queried: null, num_hit: null }),
  ];
  expect(hitRate(points)).toBeCloseTo(0.1);
  expect(hitCourse(points, starts)[last]).toBeCloseTo(0.1);
  expect(hitRate([pointOf({ num_queried: 0, num_hit: 0 })])).toBeNull();
  expect(hitRate([])).toBeNull();
});

it("adds workers up, and leaves out those of which nothing is known", () => {
  const courses = [
    [1, null, null],
    [2, 5, null],
  ];
  expect(summed(courses, [0, 1, 2])).toEqual([3, 5, null]);
});

it("weighs each worker's share by its blocks", () => {
  const small = workerOf({ name: "a", num_blocks: 100, point: pointOf({ kv_used: 1 }) });
  const large = workerOf({ name: "b", num_blocks: 300, point: pointOf({ kv_used: 0 }) });
  const remote = workerOf({ name: "c", num_blocks: null, point: pointOf({ kv_used: null }) });
  expect(blocksUsed([small, large, remote])).toBe(0.25);
  expect(blocksUsed([remote])).toBeNull();
  const points = new Map([
    ["a", [pointOf({ at_ms: starts[0]!, kv_used: 1 })]],
    ["b", [pointOf({ at_ms: starts[0]!, kv_used: 0 })]],
  ]);
  expect(blocksCourse([small, large, remote], points, starts).slice(0, 2)).toEqual([0.25, null]);
});

it("never keeps more than the window, whatever comes", () =>
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -5000, max: 60_000 }), { maxLength: 300 }), (steps) => {
      let at = NOW_MS;
      let points: ReturnType<typeof withPoint> = [];
      for (const step of steps) points = withPoint(points, pointOf({ at_ms: (at += step) }));
      const times = points.map((point) => point.at_ms);
      expect(times).toEqual([...new Set(times)].sort((one, other) => one - other));
      expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeLessThanOrEqual(WINDOW_MS + PART_MS);
    }),
  ));
