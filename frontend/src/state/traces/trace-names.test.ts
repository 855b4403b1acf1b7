import { expect, it } from "vitest";
import type { SamplingParams } from "../../protocol/events";
import type { PlacedRequest } from "../../protocol/api";
import { around, inOrder } from "./selection";
import { ownSettings, shortNames, distinguishingWords } from "./trace-names";

const idOf = (model: string) => model;

const TRACE = {
  id: "req_a",
  title: "Why?",
  surface: "chat",
  created_at: "2026-01-31T12:00:00.000001+00:00",
  fork_position: null,
  answer: null,
  run: null,
  seed: 7,
} as unknown as PlacedRequest;

it("tells answers, runs and forks apart, and leaves one alone that stands alone", () => {
  expect(distinguishingWords(TRACE)).toEqual([]);
  expect(distinguishingWords({ ...TRACE, answer: { index: 0, num: 1 } })).toEqual([]);
  expect(distinguishingWords({ ...TRACE, answer: { index: 1, num: 8 } })).toEqual(["Answer 2 of 8"]);
  expect(distinguishingWords({ ...TRACE, answer: { index: 8, num: 9 }, fork_position: 5 })).toEqual([
    "Answer 9 of 9",
    "forked at token 6",
  ]);
  const run = { index: 2, num: 4, settings: { temperature: 0, top_k: 5 } };
  expect(distinguishingWords({ ...TRACE, surface: "replay", run })).toEqual([
    "Run 3 of 4",
    "temperature 0 (greedy)",
    "top-k 5",
  ]);
  expect(distinguishingWords({ ...TRACE, surface: "replay" })).toEqual(["Run again"]);
  expect(distinguishingWords({ ...TRACE, surface: "openai", batch_id: "batch_a" })).toEqual(["in a batch"]);
});

it("gives short names by what differs: the questions, else the places, else the times", () => {
  const other = { ...TRACE, id: "req_b", title: "What is the longest of all the rivers of the whole world?" };
  expect(shortNames([TRACE, other, null])).toEqual(["Why?", "What is the longest of all the rivers o…", ""]);
  const answers = [0, 1].map((index) => ({ ...TRACE, answer: { index, num: 2 } }));
  expect(shortNames([...answers, { ...TRACE, run: { index: 0, num: 3, settings: {} } }])).toEqual([
    "Answer 1",
    "Answer 2",
    "Run 1",
  ]);
  const asked = { ...other, created_at: TRACE.created_at };
  expect(shortNames([...answers, asked]).slice(0, 2)).toEqual(["Why?, Answer 1", "Why?, Answer 2"]);
  const twice = shortNames([
    answers[0]!,
    { ...answers[0]!, created_at: "2026-01-31T12:00:05Z" },
    asked,
    null,
  ]);
  expect(twice[0]).toMatch(/^Why\?, Answer 1, .*00:00/);
  expect(twice[1]).toMatch(/^Why\?, Answer 1, .*00:05/);
  expect(twice[3]).toBe("");
  const later = { ...TRACE, created_at: "2026-01-31T12:00:05Z" };
  const [one, two] = shortNames([TRACE, later]);
  expect(one).toMatch(/00:00/);
  expect(two).toMatch(/00:05/);
});

it("names by the setting that differs what has the same question, and by the time where that is the same too", () => {
  const schema = JSON.stringify({ type: "object", properties: { name: { type: "string", maxLength: 20 } } });
  const asked = (temperature: number, json_schema: string | null, seed: number) => ({
    model: "small",
    params: { temperature, top_k: 0, json_schema, seed } as SamplingParams,
  });
  const settings = ownSettings([asked(0.3, schema, 1), asked(1.3, null, 2), asked(1.3, null, 3), null], idOf);
  expect(settings).toEqual([
    ["temperature 0.3", expect.stringMatching(/^JSON Schema "\{.*…$/)],
    ["temperature 1.3", "JSON Schema none"],
    ["temperature 1.3", "JSON Schema none"],
    [],
  ]);
  const names = shortNames([TRACE, TRACE, TRACE], settings);
  expect(names[0]).toBe("temperature 0.3");
  expect(names[1]).toMatch(/^temperature 1.3, .*00:00/);
  expect(shortNames([TRACE, TRACE], ownSettings([asked(0, null, 1), asked(0, null, 2)], idOf))[0]).toMatch(
    /00:00/,
  );
});

it("puts the older first, and what began together in its own order", () => {
  const late = { ...TRACE, id: "late", created_at: "2026-01-31T13:00:00Z" };
  const answers = [2, 0, 1].map((index) => ({ ...TRACE, id: `a${index}`, answer: { index, num: 3 } }));
  expect(inOrder([late, ...answers])).toEqual(["a0", "a1", "a2", "late"]);
});

it("takes six of a longer row, always with the one that is looked at", () => {
  const row = [0, 1, 2, 3, 4, 5, 6, 7];
  expect(around(row.slice(0, 3), 1)).toEqual([0, 1, 2]);
  for (const place of row) {
    const found = around(row, place);
    expect(found).toHaveLength(6);
    expect(found).toContain(place);
  }
});

it("names the model of each request where the models differ", () => {
  const params = { temperature: 0 } as SamplingParams;
  const nameOf = (model: string) => `the ${model} one`;
  const [small, big] = ["small", "big"].map((model) => ({ model, params }));
  expect(ownSettings([small!, big!, null], nameOf)).toEqual([["the small one"], ["the big one"], []]);
  expect(ownSettings([small!, small!], nameOf)).toEqual([[], []]);
});
