import fc from "fast-check";
import { expect, it } from "vitest";
import { runsOf } from "./glass";

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
