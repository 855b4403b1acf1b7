import { describe, expect, it } from "vitest";
import { random, randomSpans } from "./random";
import { scale, ticks, wholeRange } from "./timeline";
import { compress, idleGaps, idleTime, worthCompressing } from "./warp";

describe.each(Array.from({ length: 40 }, (_, index) => index + 1))("idle gaps (seed %i)", (seed) => {
  const next = random(seed);
  const spans = randomSpans(next, 40);
  const whole = wholeRange(spans);
  const gaps = idleGaps(spans, whole);
  const warp = compress(gaps, whole, 800);

  it("hold nothing, and each is more than a twentieth of the whole", () => {
    for (const gap of gaps) {
      expect(gap.end - gap.start).toBeGreaterThan((whole.end - whole.start) / 20);
      expect(spans.filter(({ start, end }) => start < gap.end && end > gap.start)).toEqual([]);
    }
    expect(idleTime(gaps)).toBeLessThanOrEqual(whole.end - whole.start);
  });

  it("compressed, keep the order and give every time back", () => {
    let last = -Infinity;
    for (let step = -5; step <= 205; step++) {
      const time = whole.start + (step / 200) * (whole.end - whole.start);
      const place = warp.toAxis(time);
      expect(place).toBeGreaterThan(last);
      expect(warp.toTime(place)).toBeCloseTo(time, 3);
      last = place;
    }
  });

  it("leave at least half of the axis to what happened, and have no tick inside", () => {
    const on = scale({ start: warp.toAxis(whole.start), end: warp.toAxis(whole.end) }, 800, warp);
    const idle = gaps.reduce((sum, gap) => sum + on.toX(gap.end) - on.toX(gap.start), 0);
    // A whole of nothing but one instant has no more to give.
    if (idleTime(gaps) < whole.end - whole.start - 1) expect(idle).toBeLessThanOrEqual(401);
    for (const { x } of ticks(on, warp))
      for (const gap of gaps) expect(x > on.toX(gap.start) + 1e-6 && x < on.toX(gap.end) - 1e-6).toBe(false);
  });
});

it("makes a gap 28 pixels wide when the whole is shown", () => {
  const whole = { start: 0, end: 36_000_000 };
  const gaps = idleGaps(
    [
      { start: 0, end: 70_000 },
      { start: 35_930_000, end: 36_000_000 },
    ],
    whole,
  );
  expect(idleTime(gaps)).toBe(35_860_000);
  const warp = compress(gaps, whole, 1000);
  const on = scale({ start: 0, end: warp.toAxis(36_000_000) }, 1012, warp);
  expect(on.toX(gaps[0]!.end) - on.toX(gaps[0]!.start)).toBeCloseTo(28);
});

it("offers no gap that compressing would hardly make narrower", () => {
  const whole = { start: 0, end: 1_000_000 };
  const gaps = [
    { start: 0, end: 100_000 },
    { start: 300_000, end: 700_000 },
  ];
  expect(worthCompressing(gaps, whole, 340)).toEqual([gaps[1]]);
  expect(worthCompressing(gaps, whole, 1000)).toEqual(gaps);
});
