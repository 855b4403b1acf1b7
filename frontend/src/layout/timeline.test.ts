import { expect, it } from "vitest";
import type { Span } from "../trace/spans";
import { laneBars, MIN_WIDTH, pan, ticks, wholeRange, zoom } from "./timeline";

const SPANS: Span[] = [
  { stage: "decode", name: "instant", start: 50, end: 50 },
  { stage: "decode", name: "long", start: 100, end: 100_000 },
  { stage: "browser", name: "before", start: -500, end: 0 },
];

it.each([0, 1, 137, 199, 1200])("keeps every bar finite and inside a width of %i", (width) => {
  const range = wholeRange(SPANS);
  for (const { x, width: size } of laneBars(SPANS, "decode", range, width)) {
    expect(Number.isFinite(x) && Number.isFinite(size)).toBe(true);
    expect(size).toBeGreaterThanOrEqual(MIN_WIDTH);
    expect(x).toBeGreaterThanOrEqual(0);
    if (width > MIN_WIDTH) expect(x + size).toBeLessThanOrEqual(width + 1e-9);
  }
});

it("never zooms or pans out of the whole", () => {
  const whole = wholeRange(SPANS);
  const near = zoom(whole, whole, 0.1, 50_000);
  expect(near.end - near.start).toBeLessThan(whole.end - whole.start);
  for (const range of [zoom(near, whole, 1000, 0), pan(near, whole, 1e9), pan(near, whole, -1e9)]) {
    expect(range.start).toBeGreaterThanOrEqual(whole.start - 1e-6);
    expect(range.end).toBeLessThanOrEqual(whole.end + 1e-6);
  }
});

it("has few ticks, in order, within the range", () => {
  const found = ticks({ start: -10_000, end: 812_345 }, 480);
  expect(found.length).toBeGreaterThan(1);
  expect(found.length).toBeLessThanOrEqual(6);
  expect(found).toEqual([...found].sort((a, b) => a - b));
});

it("has a range even where there is nothing to show", () => {
  expect(wholeRange([])).toEqual({ start: 0, end: 1000 });
});
