// @vitest-environment jsdom
import fc from "fast-check";
import { expect, it } from "vitest";
import { clipped, runsOf } from "./glass";

const placed = (steps: (number | null)[]) =>
  steps.map((_, index) => ({ start: index * 3, end: index * 3 + 2, position: index }));

it("makes one run of neighbours of one step, and none of what is sure or not known", () => {
  const steps = [0, 2, 2, null, 2, 5];
  expect(
    runsOf(
      placed(steps),
      (position) => steps[position]!,
      () => "p",
    ),
  ).toEqual([
    { step: 2, start: 3, end: 8, node: "p" },
    { step: 2, start: 12, end: 14, node: "p" },
    { step: 5, start: 15, end: 17, node: "p" },
  ]);
});

it("covers every surprising token with its own step, in one text node each", () => {
  const step = fc.option(fc.integer({ min: 0, max: 5 }));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const places = placed(steps);
      const nodeAt = (offset: number) => Math.floor(offset / 12);
      const runs = runsOf(places, (position) => steps[position]!, nodeAt);
      for (const { start, end, position } of places) {
        // Each in the node that it is measured in.
        expect(runs.every((run) => nodeAt(run.end - 1) === run.node)).toBe(true);
        const covering = runs.filter((run) => run.start <= start && run.end >= end);
        expect(covering.map((run) => run.step)).toEqual(steps[position] ? [steps[position]] : []);
      }
    }),
  );
});

const side = fc.integer({ min: -200, max: 600 });
const box = fc
  .record({ left: side, top: side, width: fc.nat(400), height: fc.nat(40) })
  .map(({ left, top, width, height }) => new DOMRect(left, top, width, height));

it("tints nothing of a word where the box that scrolls it ends", () => {
  fc.assert(
    fc.property(box, box, (word, room) => {
      const seen = clipped(word, room);
      if (!seen) {
        const shared = Math.min(word.right, room.right) - Math.max(word.left, room.left);
        expect(shared).toBeLessThanOrEqual(0);
        return;
      }
      expect(seen.left).toBeGreaterThanOrEqual(room.left);
      expect(seen.right).toBeLessThanOrEqual(room.right);
      expect([seen.top, seen.height]).toEqual([word.top, word.height]);
    }),
  );
  const word = new DOMRect(380, 0, 60, 20);
  expect(clipped(word, new DOMRect(0, 0, 390, 300))).toMatchObject({ left: 380, width: 10 });
  expect(clipped(word, null)).toBe(word);
});
