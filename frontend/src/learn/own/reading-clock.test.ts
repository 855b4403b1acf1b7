import fc from "fast-check";
import { expect, it } from "vitest";
import { advance, isAtEnd, momentAt, readingMs, type Line, type Place } from "./reading-clock";

const lines = fc.array(
  fc
    .record({ text: fc.string({ maxLength: 200 }), start: fc.nat(1e6), length: fc.nat(1e6) })
    .map(({ text, start, length }): Line => ({ text, start, end: start + length })),
  { minLength: 1, maxLength: 8 },
);

it("reads every sentence in order, for as long as it takes, whatever the frames", () => {
  fc.assert(
    fc.property(lines, fc.array(fc.integer({ min: 1, max: 4000 }), { minLength: 1 }), (told, steps) => {
      const total = told.reduce((sum, line) => sum + readingMs(line), 0);
      let place: Place = { index: 0, share: 0 };
      let elapsed = 0;
      for (let step = 0; !isAtEnd(told, place); step++) {
        const ms = steps[step % steps.length]!;
        const next = advance(told, place, ms);
        expect(next.index).toBeGreaterThanOrEqual(place.index);
        if (next.index === place.index) expect(next.share).toBeGreaterThan(place.share);
        place = next;
        elapsed += ms;
      }
      expect(elapsed).toBeGreaterThan(total - 1);
      expect(elapsed - Math.max(...steps)).toBeLessThan(total + 1);
    }),
  );
});

it("shows only moments of the stretch that its sentence tells of, and the last one at its end", () => {
  fc.assert(
    fc.property(lines, fc.nat(7), fc.double({ min: 0, max: 1, noNaN: true }), (told, nth, share) => {
      const index = nth % told.length;
      const { start, end } = told[index]!;
      const moment = momentAt(told, { index, share });
      expect(moment).toBeGreaterThanOrEqual(start);
      expect(moment).toBeLessThanOrEqual(end);
      expect(momentAt(told, { index, share: 1 })).toBe(end);
    }),
  );
});
