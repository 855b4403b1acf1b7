import fc from "fast-check";
import { expect, test } from "vitest";
import { ACCEPTED, ended, foldAll, token } from "../trace/fixtures";
import { alignedRange, alignedRows, barTop, placeAt, shifted, zeroOf } from "./aligned";
import { Lanes } from "./lanes";
import { scale } from "./timeline";

const slow = foldAll([ACCEPTED, token(0, 200_000), token(1, 210_000), ...ended("stop")]);
const quick = foldAll([ACCEPTED, token(0, 20_000), token(1, 30_000), ...ended("stop")]);
const time = fc.integer({ min: -1_000_000, max: 1_000_000_000 });

test("a request's own clock and the axis are the same but for the zero", () => {
  fc.assert(
    fc.property(time, time, fc.integer({ min: 20, max: 4000 }), (by, at, width) => {
      const on = scale({ start: -1000, end: 9000 }, width);
      const own = shifted(on, by);
      expect(own.toX(by + at)).toBeCloseTo(on.toX(at), 3);
      expect(own.toTime(own.toX(at))).toBeCloseTo(at, 0);
      expect(own.toX(own.start)).toBeCloseTo(0, 3);
    }),
  );
});

test("aligned at the first token, the first tokens stand above each other", () => {
  const on = scale({ start: -200_000, end: 100_000 }, 900);
  const places = [slow, quick].map((view) =>
    shifted(on, zeroOf(view, "first token")!).toX(view.tokens[0]!.at),
  );
  expect(places[0]).toBe(places[1]);
  expect(zeroOf(foldAll([ACCEPTED]), "first token")).toBeNull();
  const ranges = [slow, quick].map((view) => new Lanes().update(view).whole);
  const zeros = [200_000, 20_000];
  const { start, end } = alignedRange(ranges, zeros);
  ranges.forEach((range, index) => {
    expect(start).toBeLessThanOrEqual(range.start - zeros[index]!);
    expect(end).toBeGreaterThanOrEqual(range.end - zeros[index]!);
  });
  expect(alignedRange([], [])).toEqual({ start: 0, end: 1000 });
});

test("rows follow each other, and each bar is found where it is drawn", () => {
  const rows = alignedRows(
    [slow, quick].map((view) => new Lanes().update(view)),
    24,
  );
  expect(rows.map(({ stage }) => stage)).toContain("sampling");
  rows.forEach((row, at) => {
    expect(row.top).toBe(at ? rows[at - 1]!.top + rows[at - 1]!.height : 24);
    for (const index of [0, 1]) expect(placeAt(rows, barTop(row, index) + 4)).toEqual({ row, index });
  });
  expect(placeAt(rows, 0)).toBeNull();
});
