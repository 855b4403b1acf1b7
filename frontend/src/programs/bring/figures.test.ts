import { expect, it } from "vitest";
import type { BroughtAnswer, BroughtBody, BroughtPart, PriceTable } from "../../protocol/api";
import { answerRows, changesOf, costOf, differenceText, partName, promptRows } from "./figures";

const TABLE: PriceTable = {
  model: "m",
  name: "M",
  currency: "USD",
  version: "2026-01-01",
  unit_nano: { uncached_input: 100, cache_read: 10, cache_write_5m: 125, cache_write_1h: 200, output: 400 },
};
const usage = (
  more: Partial<Record<"uncached_input" | "cache_read" | "cache_write_5m" | "output", number>>,
) => ({
  uncached_input: 0,
  cache_read: 0,
  cache_write_5m: 0,
  cache_write_1h: 0,
  output: 0,
  ...more,
});
const part = (more: Partial<BroughtPart>): BroughtPart => ({
  what: "message",
  role: "user",
  place: "messages[0]",
  start: 0,
  end: 10,
  text: "Hi",
  num_chars: 2,
  breakpoint: null,
  ...more,
});
const body = (more: Partial<BroughtBody> = {}): BroughtBody => ({
  kind: "chat",
  is_certain: true,
  named_model: "x",
  model: "m",
  num_tokens: 40,
  window: 2048,
  parts: [part({}), part({ start: 10, end: 40, place: "messages[1]", what: "new message" })],
  num_parts: 2,
  num_prompts: 1,
  prefix: null,
  num_cached: null,
  difference: null,
  problem: null,
  ...more,
});
const difference = (num_common: number, num_before: number, at: number | null) => ({
  num_before,
  num_common,
  num_reusable: null,
  usage: null,
  part: at,
  here: "a",
  there: "b",
  is_number: false,
  added: [1],
  changed: [{ index: 0, num_tokens: 3, text: "Ho" }],
  removed: [],
});

it("prices each kind of token by the table", () => {
  expect(costOf(usage({ uncached_input: 8, cache_read: 32, output: 2 }), TABLE)).toBe(800 + 320 + 800);
});

it("prices a prompt first and again, and leaves the answer unknown", () => {
  const first = usage({ uncached_input: 8, cache_write_5m: 32 });
  const again = usage({ uncached_input: 8, cache_read: 32 });
  const rows = promptRows(
    body({ prefix: { block_size: 16, marks: [], num_reusable: 32, first, again } }),
    TABLE,
  );
  expect(rows.map(({ nano }) => nano)).toEqual([4800, 1120, null]);
  expect(rows[1]!.tokens).toBe("8 computed, 32 read from the cache");
  expect(rows[2]).toEqual({ name: "Answer", tokens: "unknown", nano: null });
});

it("says that a repeat is unknown where no worker tells of blocks", () => {
  const rows = promptRows(body(), TABLE);
  expect(rows.map(({ nano }) => nano)).toEqual([4000, null, null]);
});

it("prices an answer only by what it tells", () => {
  const told = { num_input: 40, num_cache_read: null, num_cache_write: null, num_output: 9, usage: null };
  const answer = { told } as BroughtAnswer;
  expect(answerRows(answer, TABLE)).toEqual([
    {
      name: "As told",
      tokens: "40 of input, unknown read from the cache, unknown written to it, 9 of output",
      nano: null,
    },
  ]);
  const full = { told: { ...told, usage: usage({ uncached_input: 40, output: 9 }) } } as BroughtAnswer;
  expect(answerRows(full, TABLE)[0]!.nano).toBe(40 * 100 + 9 * 400);
});

it("names the parts and their changes", () => {
  expect(partName(part({}))).toBe("user's message · messages[0]");
  expect(partName(part({ what: "template", place: "" }))).toBe("template");
  expect(changesOf(body({ difference: difference(5, 20, 0) }))).toEqual(["changed", "new"]);
  expect(changesOf(body())).toEqual(["", ""]);
});

it.each([
  [
    difference(20, 20, 1),
    "The prompt goes on after all 20 tokens of the one before. Token 21 is the first new one, in: new message · messages[1].",
  ],
  [
    difference(5, 20, 0),
    "The first 5 tokens are the same as before; 15 of the one before are not. Token 6 differs, in: user's message · messages[0].",
  ],
  [difference(40, 60, null), "The first 40 tokens are the same as before; 20 of the one before are not."],
  [difference(40, 40, null), "The prompt is the same as the one before."],
])("tells the difference in a sentence", (found, sentence) => {
  expect(differenceText(found, body())).toBe(sentence);
});
