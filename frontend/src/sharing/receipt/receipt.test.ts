/** The receipts of the recorded logs of tests/golden say what the running product said of the same requests. */
import fc from "fast-check";
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { AnyEvent } from "../../protocol/events";
import { closestCall } from "../../trace/sampling/calls";
import { fold } from "../../trace/fold";
import { count, money } from "../../trace/format";
import { intervalTable } from "../../trace/timing/intervals";
import { allTokens, emptyView, numReadInAll, type TraceView } from "../../trace/view";
import { receiptOf, UNKNOWN, type Receipt } from "./receipt";
import { columns, cut, LETTER, slipOf, wrapped, WIDTH } from "./slip";

interface Golden {
  said: { summary: { cost_nano: number | null; usage: Record<string, number> } };
  frames: { seq: number; events: AnyEvent[] }[];
}

const LOGS = new URL("../../../../tests/golden/logs/", `file://${import.meta.dirname}/`).pathname;

function read(file: string): Golden & { view: TraceView } {
  const golden = JSON.parse(readFileSync(LOGS + file, "utf8")) as Golden;
  let view = emptyView();
  for (const { seq, events } of golden.frames)
    events.forEach((event, index) => (view = fold(view, event, seq + index)));
  return { ...golden, view };
}

const figure = ({ sections }: Receipt, title: string, name: string) =>
  sections.find((each) => each.title === title)!.items.find((each) => each.name === name)?.figure;

describe.each(readdirSync(LOGS))("%s", (file) => {
  const { said, view } = read(file);
  const receipt = receiptOf(view, "req_x");

  it("has the figures of the product's own row, and says unknown where there is none", () => {
    expect(figure(receipt, "Tokens", "Answer")).toBe(count(allTokens(view).length));
    expect(figure(receipt, "Tokens", "Prompt")).toBe(view.prompt ? count(numReadInAll(view)) : UNKNOWN);
    const cached = figure(receipt, "Tokens", "from the cache");
    if (view.generation?.is_cache_known) expect(cached).toBe(count(said.summary.usage.cache_read!));
    if (view.generation?.is_cache_known === false) expect(cached).toBe(UNKNOWN);
    const total = figure(receipt, "Price", "Total");
    if (said.summary.cost_nano === null) expect(["unpriced", UNKNOWN]).toContain(total);
    else expect(total).toBe(money(said.summary.cost_nano, view.bill!.currency));
  });

  it("adds its stages up to all the time that there was", () => {
    const { intervals, unexplained, start, end } = intervalTable(view);
    const onTheWay = intervals.filter(({ isBeside }) => !isBeside).reduce((sum, { spent }) => sum + spent, 0);
    expect(onTheWay + unexplained).toBeCloseTo(end - start, 3);
  });

  it("fits its paper, each line below the one before", () => {
    const { shapes, width, height } = slipOf(receipt);
    for (const shape of shapes) {
      const y = shape.kind === "line" ? shape.y1 : shape.y;
      expect(y).toBeGreaterThan(0);
      expect(y).toBeLessThan(height);
      if (shape.kind === "text") expect(columns(shape.text) * shape.size * LETTER).toBeLessThanOrEqual(width);
    }
  });
});

it("names the closest call and the oddest word of a finished answer", () => {
  const { view } = read("finished.json");
  const receipt = receiptOf(view, "req_x");
  const oddest = view.tokens.filter((token) => !token.is_special).sort((a, b) => a.logprob! - b.logprob!)[0]!;
  expect(figure(receipt, "Draws", "Oddest word")).toBe(`token ${oddest.position + 1}`);
  expect(figure(receipt, "Draws", "Closest call")).toBe(`token ${closestCall(view)!.position + 1}`);
});

it("is whole for a request of which nothing is known", () => {
  const { sections } = receiptOf(emptyView(), "req_x");
  expect(sections.flatMap(({ items }) => items).map(({ figure: each }) => each)).toContain(UNKNOWN);
  expect(slipOf(receiptOf(emptyView(), "req_x")).width).toBe(WIDTH);
});

const texts = fc
  .array(fc.constantFrom("a", "sea", " ", "漢字", "\u202e", "\n", "👍", "x".repeat(60), "\u0000", "é"), {
    maxLength: 80,
  })
  .map((parts) => parts.join(""));

it("keeps any text within its lines", () => {
  fc.assert(
    fc.property(texts, fc.integer({ min: 1, max: 8 }), (words, most) => {
      const lines = wrapped(words, most);
      expect(lines.length).toBeLessThanOrEqual(most);
      expect(lines.filter((each) => columns(each) > 45)).toEqual([]);
      expect(columns(cut(words, 10))).toBeLessThanOrEqual(10);
    }),
  );
});
