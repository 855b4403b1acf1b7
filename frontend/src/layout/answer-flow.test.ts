import fc from "fast-check";
import { expect, test } from "vitest";
import {
  cacheShareSentence,
  groupAnswers,
  median,
  repeatSentence,
  spreadSentence,
  type RunAnswer,
} from "../trace/compare/runs";
import { answerFlow, flowAxis } from "./answer-flow";

function answer(ids: number[], index = 0, rest: Partial<RunAnswer> = {}): RunAnswer {
  return {
    index,
    requestId: `req_${index}`,
    ids,
    pieces: ids.map((id) => btoa(String(id))),
    chances: ids.map(() => 0.5),
    text: ids.join(""),
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
    ...rest,
  };
}

const sets = fc
  .array(fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 8 }), { minLength: 1, maxLength: 12 })
  .map((all) => all.map((ids, index) => answer(ids, index)));

test("from the first band to the last each answer is spelled once, whole and on rows of its own", () => {
  fc.assert(
    fc.property(sets, (answers) => {
      const { bands, numRows } = answerFlow(answers);
      expect(numRows).toBe(answers.length);
      for (const each of answers) {
        const own = bands.filter(({ answers: those }) => those.includes(each));
        expect(own.flatMap(({ pieces }) => pieces)).toEqual(each.pieces);
        own.forEach((band, index) => expect(band.parent).toBe(index ? own[index - 1]!.key : null));
      }
      for (const band of bands) {
        const children = bands.filter(({ parent }) => parent === band.key);
        const rows = children.reduce((sum, child) => sum + child.rows, 0);
        expect(rows + band.numEnding).toBe(band.rows);
        for (const child of children) {
          expect(child.start).toBe(band.end);
          expect(child.top).toBeGreaterThanOrEqual(band.top);
          expect(child.top + child.rows).toBeLessThanOrEqual(band.top + band.rows);
        }
      }
    }),
  );
});

test("the axis goes from 0 to 1 and never back", () => {
  fc.assert(
    fc.property(sets, (answers) => {
      const { stops } = answerFlow(answers);
      const axis = flowAxis(stops);
      const places = Array.from({ length: stops.at(-1)! + 1 }, (_, token) => axis(token));
      places.forEach((place, token) => token && expect(place).toBeGreaterThan(places[token - 1]!));
      expect(places[0]).toBe(0);
      if (places.length > 1) expect(places.at(-1)).toBeCloseTo(1, 9);
    }),
  );
});

test("identical answers are counted together, and all runs are counted", () => {
  fc.assert(
    fc.property(sets, (answers) => {
      const groups = groupAnswers(answers);
      expect(groups.flatMap(({ runs }) => runs.map(({ index }) => index)).sort((a, b) => a - b)).toEqual(
        answers.map(({ index }) => index),
      );
      expect(new Set(groups.map(({ ids }) => ids.join())).size).toBe(groups.length);
      groups.forEach(
        ({ runs }, at) => at && expect(runs.length).toBeLessThanOrEqual(groups[at - 1]!.runs.length),
      );
    }),
  );
});

test("a repeat says whether it was one, and where it first was not", () => {
  const saved = answer([1, 2, 3]);
  expect(repeatSentence([answer([1, 2, 3])], saved)).toBe(
    "The run gave the saved answer again, token for token: 3 tokens.",
  );
  expect(repeatSentence([answer([1, 2, 3]), answer([1, 9, 3])], saved)).toBe(
    "1 of 2 runs differs from the saved answer, first at token 2. The traces do not record why.",
  );
  expect(repeatSentence([answer([1], 0, { compute: "F32, cuda" })], saved)).toContain("now F32, cuda");
});

test("the spread and the cache's share are told in words", () => {
  expect(spreadSentence([answer([1, 2]), answer([1, 2]), answer([1, 3])])).toBe(
    "2 different answers from 3 runs, the most frequent of them 2 times; all begin with the same token.",
  );
  expect(spreadSentence([answer([1]), answer([2])])).toContain("they differ from the first token on");
  expect(spreadSentence([answer([])])).toBe("No run has an answer.");
  expect(cacheShareSentence([answer([1]), answer([2])]).replaceAll(/\s/g, " ")).toBe(
    "32 of 40 prompt tokens came from the prefix cache, which saved $0.0000000020.",
  );
  expect(cacheShareSentence([answer([1], 0, { numCached: null })])).toBe("");
  expect([median([]), median([3]), median([4, 1, 2]), median([1, 2])]).toEqual([null, 3, 2, 1.5]);
});
