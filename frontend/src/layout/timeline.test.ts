import { describe, expect, it } from "vitest";
import { random } from "./random";
import {
  around,
  box,
  holding,
  notePlace,
  pan,
  roomAhead,
  rowAt,
  scale,
  ticks,
  wholeRange,
  zoom,
} from "./timeline";

const WHOLE = { start: -500, end: 100_000 };
const inside = ({ start, end }: { start: number; end: number }) =>
  start >= WHOLE.start - 1e-6 && end <= WHOLE.end + 1e-6 && end > start;

describe.each([0, 1, 137, 199, 360, 1200, 3840])("a width of %i", (width) => {
  it("gives finite places, and the time back", () => {
    const on = scale(WHOLE, width);
    for (const time of [-1e9, -500, 0, 12.5, 1e9]) {
      expect(Number.isFinite(on.toX(time))).toBe(true);
      expect(on.toTime(on.toX(time))).toBeCloseTo(time, 3);
    }
  });

  it("gives a box that holds all rows", () => {
    for (const isCoarse of [false, true]) {
      const {
        height,
        rowHeight,
        rowsTop,
        width: canvas,
        barTop,
        barHeight,
        markTop,
        markHeight,
      } = box(width, 11, isCoarse);
      expect(canvas).toBeGreaterThanOrEqual(0);
      expect(rowsTop + 11 * rowHeight).toBeLessThanOrEqual(height);
      if (isCoarse) expect(rowHeight).toBe(44);
      expect(barTop + barHeight).toBeLessThan(markTop);
      expect(markTop + markHeight).toBeLessThan(rowHeight);
    }
  });
});

it("never zooms or pans out of the whole, whatever is done", () => {
  const next = random(7);
  let window = WHOLE;
  for (let turn = 0; turn < 2000; turn++) {
    const place = WHOLE.start + next() * (WHOLE.end - WHOLE.start);
    const choice = Math.floor(next() * 4);
    if (choice === 0) window = zoom(window, WHOLE, Math.exp(next() * 8 - 4), place);
    else if (choice === 1) window = pan(window, WHOLE, (next() - 0.5) * 1e6);
    else if (choice === 2) window = around({ start: place, end: place + next() * 1000 }, WHOLE);
    else window = holding(window, WHOLE, { start: place, end: Math.min(WHOLE.end, place + next() * 1000) });
    expect(inside(window)).toBe(true);
  }
});

it("zooms about the pointer: what is under it stays", () => {
  const window = { start: 10_000, end: 50_000 };
  const near = zoom(window, WHOLE, 0.25, 20_000);
  expect(scale(near, 1000).toX(20_000)).toBeCloseTo(scale(window, 1000).toX(20_000));
});

it("moves no further than it must to hold a place", () => {
  const window = { start: 10_000, end: 20_000 };
  expect(holding(window, WHOLE, { start: 12_000, end: 13_000 })).toBe(window);
  const moved = holding(window, WHOLE, { start: 30_000, end: 30_500 });
  expect(moved.end).toBeGreaterThan(30_500);
  expect(moved.end).toBeLessThan(32_000);
});

it("has ticks in order, apart from each other, in one unit", () => {
  const next = random(3);
  for (let turn = 0; turn < 300; turn++) {
    const size = 10 ** (1 + next() * 7);
    const start = (next() - 0.3) * size * 3;
    const width = 100 + next() * 3000;
    const found = ticks(scale({ start, end: start + size }, width));
    expect(found.length).toBeLessThanOrEqual(width / 90 + 2);
    if (width > 500) expect(found.length).toBeGreaterThan(1);
    found.slice(1).forEach(({ x }, index) => expect(x - found[index]!.x).toBeGreaterThan(50));
    expect(new Set(found.map(({ label }) => label)).size).toBe(found.length);
    expect(
      new Set(found.filter(({ label }) => label !== "0").map(({ label }) => label.split("\u00a0")[1])).size,
    ).toBeLessThan(2);
  }
});

it("grows in steps while a request runs", () => {
  const ends = Array.from({ length: 1000 }, (_, index) => roomAhead({ start: 0, end: index * 10_000 }).end);
  ends.forEach((end, index) => expect(end).toBeGreaterThanOrEqual(index * 10_000 - 1e-3));
  expect(new Set(ends).size).toBeLessThan(12);
});

it("has a range even where there is nothing to show", () => {
  expect(wholeRange([])).toEqual({ start: 0, end: 1000 });
});

it("knows the row of a point, and none above or below", () => {
  const it = box(800, 3, false);
  expect(rowAt(it.rowsTop - 1, it, 3)).toBeNull();
  expect(rowAt(it.rowsTop + 1, it, 3)).toBe(0);
  expect(rowAt(it.height + 20, it, 3)).toBeNull();
});

it("keeps a note within the width", () => {
  for (const x of [0, 100, 359]) {
    const left = notePlace(x, 240, 360);
    expect(left).toBeGreaterThanOrEqual(0);
    expect(left + 240).toBeLessThanOrEqual(360);
  }
});
