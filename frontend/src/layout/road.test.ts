import fc from "fast-check";
import { expect, test } from "vitest";
import type { RunAnswer } from "../trace/compare/runs";
import { NARROW, roadMap, roadWords, shortened, type Road } from "./road";

const WORDS = [" the", " sea", " is", " blue", " and", " extraordinarily", " deep", "."];

function answer(ids: number[], index: number): RunAnswer {
  return {
    index,
    requestId: `req_${index}`,
    ids,
    pieces: ids.map((id) => btoa(WORDS[id]!)),
    chances: ids.map(() => 0.5),
    text: ids.map((id) => WORDS[id]).join(""),
    outcome: "done",
    ending: "end of turn",
    meanLogprob: -1,
    firstToken: 10,
    duration: 100,
    cost: 5,
    currency: "USD",
    numPrompt: 20,
    numCached: 16,
    savedNano: 1,
    compute: "Q4, cpu",
  };
}

const sets = fc
  .array(fc.array(fc.integer({ min: 0, max: WORDS.length - 1 }), { minLength: 1, maxLength: 40 }), {
    minLength: 1,
    maxLength: 9,
  })
  .map((all) => all.map((ids, index) => answer(ids, index)));
const widths = fc.integer({ min: 320, max: 2200 });
const heights = fc.integer({ min: 200, max: 900 });

const overlap = (a: Road, b: Road) =>
  a.x + a.width > b.x + 0.01 &&
  b.x + b.width > a.x + 0.01 &&
  a.y + a.height > b.y + 0.01 &&
  b.y + b.height > a.y + 0.01;

test("no two roads lie on each other, and all lie within the map", () => {
  fc.assert(
    fc.property(sets, widths, heights, (answers, width, height) => {
      const map = roadMap(answers, width, height);
      map.roads.forEach((road, index) => {
        expect(road.x).toBeGreaterThanOrEqual(0);
        expect(road.y).toBeGreaterThanOrEqual(0);
        expect(road.x + road.width).toBeLessThanOrEqual(width + 0.01);
        expect(road.y + road.height).toBeLessThanOrEqual(map.height + 0.01);
        expect(map.roads.slice(index + 1).filter((other) => overlap(road, other))).toEqual([]);
      });
    }),
  );
});

test("each answer is read along its own roads, from its first word to its last", () => {
  fc.assert(
    fc.property(sets, widths, heights, (answers, width, height) => {
      const { roads } = roadMap(answers, width, height);
      for (const each of answers) {
        const own = roads.filter(({ band }) => band.answers.includes(each));
        expect(own.flatMap(({ band }) => band.pieces)).toEqual(each.pieces);
      }
    }),
  );
});

test("side by side a road's height is the share of the answers that take it", () => {
  fc.assert(
    fc.property(sets, fc.integer({ min: NARROW, max: 2200 }), heights, (answers, width, height) => {
      const { roads } = roadMap(answers, width, height);
      const row = roads[0]!.height / roads[0]!.band.rows;
      for (const road of roads) expect(road.height / road.band.rows).toBeCloseTo(row, 6);
    }),
  );
});

test("the last road of each answer has room for its words at any number of forks", () => {
  fc.assert(
    fc.property(sets, fc.integer({ min: NARROW, max: 2200 }), heights, (answers, width, height) => {
      for (const road of roadMap(answers, width, height).roads)
        if (road.isLast) expect(road.width).toBeGreaterThan(0.2 * width);
    }),
  );
});

test("the most travelled road is followed fork by fork, as long as more than one answer takes it", () => {
  const map = roadMap(
    [
      [0, 1, 2],
      [0, 1, 3],
      [0, 1, 2, 4],
      [0, 5],
    ].map(answer),
    1200,
    500,
  );
  expect(map.roads.filter(({ isMain }) => isMain).map(({ words }) => words)).toEqual(["the", "sea", "is"]);
  expect(map.roads.map(({ band }) => band.rows)).toEqual([4, 3, 2, 1, 1, 1]);
  expect(map.bends.map(({ share }) => share)).toEqual([1, 0.75, 0.5, 0.25, 0.25, 0.25]);
});

test("a key stays when the answers behind its road grow", () => {
  const [first, second] = [
    [0, 1, 2],
    [0, 1, 2, 3, 4],
  ].map((ids) => [answer(ids, 0), answer([0, 5], 1)]);
  const keys = (answers: RunAnswer[]) => roadMap(answers, 1000, 400).roads.map(({ key }) => key);
  expect(keys(first!)).toEqual(keys(second!));
});

test("long words keep their beginning and their end", () => {
  expect(shortened("The capital of France is", 60)).toBe("The capital of France is");
  expect(shortened("The capital of France is", 13)).toBe("The c … ce is");
  fc.assert(
    fc.property(fc.string(), fc.integer({ min: 5, max: 40 }), (text, most) => {
      expect([...shortened(text, most)].length).toBeLessThanOrEqual(Math.max(most, 5));
    }),
  );
});

test("line ends are told by a mark, and hostile text stays text", () => {
  expect(roadWords([btoa("a\n\n"), btoa("<b>")])).toBe("a ⏎ <b>");
});
