import fc from "fast-check";
import { expect, it } from "vitest";
import type { Segment } from "../../protocol/events";
import { LOOKED_UP } from "../fixtures";
import type { TraceView } from "../view";
import { toolCosts } from "./tool-costs";

const UNITS = { uncached_input: 100, cache_read: 10, output: 300 };

/** As webapp/ground/context/tools.py writes it. */
const defined = (name: string, description = "") =>
  `{"name": "${name}", ${description && `"description": ${JSON.stringify(description)}, `}"parameters": {"type": "object"}}`;
const framed = (lines: string[]) =>
  ["You can call these tools:", "<tools>", ...lines, "</tools>", "To call one, write it."].join("\n");

const base64 = (bytes: Uint8Array) => btoa(String.fromCharCode(...bytes));

/** The text cut into tokens at these bytes. */
function cut(text: string, at: number[]): string[] {
  const bytes = new TextEncoder().encode(text);
  const edges = [0, ...new Set(at.filter((each) => each > 0 && each < bytes.length)), bytes.length];
  const sorted = edges.sort((one, other) => one - other);
  return sorted.slice(1).map((end, index) => base64(bytes.slice(sorted[index], end)));
}

interface Given {
  before?: string[];
  tools: string[];
  after?: string[];
  numCached?: number;
  blockSize?: number;
  isBilled?: boolean;
  lines?: string[];
}

/** Equal tokens have equal ids. */
function viewOf({
  before = [],
  tools,
  after = [],
  numCached = 0,
  blockSize = 4,
  isBilled = true,
  lines,
}: Given) {
  const pieces = [...before, ...tools, ...after];
  const known = [...new Set(pieces)];
  const usage = {
    uncached_input: pieces.length - numCached,
    cache_read: numCached,
    cache_write_5m: 0,
    cache_write_1h: 0,
    output: 1,
  };
  const billed = Object.entries(UNITS).filter(([kind]) => !lines || lines.includes(kind));
  const view = {
    prompt: { pieces, ids: pieces.map((piece) => known.indexOf(piece)) },
    cache: { ...LOOKED_UP, num_cached_tokens: numCached, block_size: blockSize },
    generation: { usage },
    bill: isBilled
      ? { currency: "USD", lines: billed.map(([kind, unit_price_nano]) => ({ kind, unit_price_nano })) }
      : null,
  } as unknown as TraceView;
  const segment = { kind: "tools", start: before.length, end: before.length + tools.length } as Segment;
  return { view, segment };
}

const costsOf = (given: Given) => {
  const { view, segment } = viewOf(given);
  return toolCosts(view, segment);
};

/** Every character is a token of its own. */
const letters = (text: string) => [...text].map((each) => base64(new TextEncoder().encode(each)));

it("counts each definition's own tokens, with the end of its line, and prices them", () => {
  const [one, two] = [defined("clock", "Tells the time."), defined("sum")];
  const found = costsOf({ tools: letters(framed([one, two])) })!;
  expect(found.tools.map(({ name, numTokens }) => [name, numTokens])).toEqual([
    ["clock", one.length + 1],
    ["sum", two.length + 1],
  ]);
  expect(found.tools[1]).toMatchObject({
    nano: 100 * (two.length + 1),
    numCached: 0,
    isSplit: false,
    again: { numTokens: 0 },
  });
});

it("prices the cached tokens of a definition as cached", () => {
  const text = framed([defined("sum")]);
  const start = text.indexOf("{");
  const [tool] = costsOf({ tools: letters(text), numCached: start + 3 })!.tools;
  expect(tool).toMatchObject({ numCached: 3, nano: 3 * 10 + (tool!.numTokens - 3) * 100 });
});

it("counts a token that two lines share to the line in which it begins, and says so", () => {
  const [one, two] = [defined("a"), defined("b")];
  const text = framed([one, two]);
  const edge = text.indexOf(two);
  const found = costsOf({
    tools: cut(text, [text.indexOf(one), edge - 1, edge + 2, text.indexOf("</tools>")]),
  })!;
  expect(found.tools.map(({ name, start, end, isSplit }) => [name, start, end, isSplit])).toEqual([
    ["a", 1, 3, false],
    ["b", 3, 4, true],
  ]);
});

it("knows no tool in another segment, in a redacted one, and before the prompt is there", () => {
  const { view, segment } = viewOf({ tools: letters(framed([defined("a")])) });
  expect(toolCosts(view, { ...segment, kind: "user" })).toBeNull();
  expect(toolCosts({ ...view, prompt: null }, segment)).toBeNull();
  expect(costsOf({ tools: ["4pauIA==", "4pauIA=="] })).toBeNull();
  expect(costsOf({ tools: letters(framed([])) })).toBeNull();
});

it("counts a definition of a trace from elsewhere whose description is no JSON", () => {
  const broken = String.raw`{"name": "a", "description": "\q", "parameters": {}}`;
  expect(costsOf({ tools: letters(framed([broken])) })!.tools[0]!.numTokens).toBe(broken.length + 1);
});

it("has no price without a bill, and none for reading again without both of its prices", () => {
  const given = { tools: letters(framed([defined("a")])), after: letters("0123456789") };
  const numCached = given.tools.length + 8;
  expect(costsOf({ ...given, isBilled: false })).toMatchObject({
    frame: { nano: null },
    tools: [{ nano: null }],
  });
  const again = (lines: string[]) => costsOf({ ...given, numCached, lines })!.tools[0]!.again!.nano;
  expect(again(["cache_read"])).toBeNull();
  expect(again(["cache_read", "uncached_input"])).toBeGreaterThan(0);
});

const NAMES = fc.uniqueArray(fc.stringMatching(/^[a-z_]{1,8}$/), { minLength: 1, maxLength: 5 });
const DESCRIPTION = fc.string({ unit: "grapheme", maxLength: 20 });
const TEXT = fc
  .array(fc.constantFrom("{", '"', "n", "x"), { maxLength: 40 })
  .map((found) => letters(found.join("")));

it("gives every token of the segment to one tool or to the frame, wherever the tokens are cut", () => {
  fc.assert(
    fc.property(
      NAMES,
      DESCRIPTION,
      fc.array(fc.nat(600)),
      fc.nat(200),
      TEXT,
      (names, told, at, cached, before) => {
        const tools = cut(framed(names.map((name) => defined(name, told))), at);
        const numCached = Math.min(cached, before.length + tools.length);
        const { view, segment } = viewOf({ before, tools, numCached });
        const found = toolCosts(view, segment)!;
        expect(found.tools.map(({ name }) => name)).toEqual(names);
        const sum = (key: "numTokens" | "numCached" | "nano") =>
          found.tools.reduce((total, each) => total + each[key]!, found.frame[key]!);
        const numFound = Math.max(0, numCached - before.length);
        expect(sum("numTokens")).toBe(tools.length);
        expect(sum("numCached")).toBe(numFound);
        expect(sum("nano")).toBe(numFound * 10 + (tools.length - numFound) * 100);
        let end = before.length;
        for (const tool of found.tools) {
          expect(tool.start).toBeGreaterThanOrEqual(end);
          end = tool.end;
        }
        expect(end).toBeLessThanOrEqual(segment.end);
      },
    ),
  );
});

/** The whole blocks at the beginning of a prompt that stand so in another one, in tokens. */
function shared(ids: number[], others: number[], size: number): number {
  let first = 0;
  while (first < ids.length && ids[first] === others[first]) first++;
  return Math.floor(first / size) * size;
}

it("tells exactly the tokens that the prompt without the tool would not find in the same cache", () => {
  fc.assert(
    fc.property(
      NAMES,
      TEXT,
      TEXT,
      fc.integer({ min: 1, max: 16 }),
      fc.nat(400),
      (names, before, after, size, at) => {
        const tools = letters(framed(names.map((name) => defined(name))));
        const num = before.length + tools.length + after.length;
        const numCached = Math.floor(Math.min(at, num) / size) * size;
        const { view, segment } = viewOf({ before, tools, after, numCached, blockSize: size });
        const { ids } = view.prompt!;
        for (const { start, end, numCached: own, again } of toolCosts(view, segment)!.tools) {
          const without = [...ids.slice(0, start), ...ids.slice(end)];
          const found = shared(without, ids.slice(0, numCached), size);
          expect(again!.numTokens).toBe(Math.max(0, numCached - own! - found));
          expect(again!.nano).toBe(again!.numTokens * 90);
        }
      },
    ),
  );
});
