import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { AnyEvent, BillPosted } from "../../protocol/events";
import { foldAll } from "../fixtures";
import { costOf, KINDS } from "../usage";
import { runningNano, savedBy, usageSoFar } from "./running-cost";
import { cacheWords } from "../words/summary";
import { isCacheKnown, usageOf } from "../view";

const LOGS = new URL("../../../../tests/golden/logs/", `file://${import.meta.dirname}/`).pathname;
const eventsOf = (name: string) =>
  (JSON.parse(readFileSync(LOGS + name, "utf8")) as { frames: { events: AnyEvent[] }[] }).frames.flatMap(
    ({ events }) => events,
  );
const PRICES = {
  currency: "USD",
  version: "2026-01-01",
  unit_prices_nano: {
    uncached_input: 100,
    cache_read: 10,
    cache_write_5m: 125,
    cache_write_1h: 200,
    output: 400,
  },
};

it.each(readdirSync(LOGS))("counts in %s what the engine counts, just before it says so", (name) => {
  const events = eventsOf(name);
  const whole = foldAll(events);
  if (!usageOf(whole) || !isCacheKnown(whole) || whole.interruptions.length) return;
  const before = foldAll(
    events.slice(
      0,
      events.findIndex(({ type }) => type === "generation.finished"),
    ),
  );
  if (whole.generations.length > 1) return;
  expect(usageSoFar(before)).toEqual(usageOf(whole));
  expect(runningNano(before, PRICES)).toBe(costOf(usageOf(whole)!, PRICES));
});

it("costs half in a batch, each price rounded up as in the bill", () => {
  const events = eventsOf("finished.json");
  const finished = events.findIndex(({ type }) => type === "generation.finished");
  const inBatch = events
    .slice(0, finished)
    .map((event) => (event.type === "request.accepted" ? { ...event, batch_id: "batch_1" } : event));
  const usage = usageOf(foldAll(events))!;
  const halves = { uncached_input: 50, cache_read: 5, cache_write_5m: 63, cache_write_1h: 100, output: 200 };
  const expected = KINDS.reduce((sum, kind) => sum + usage[kind] * halves[kind], 0);
  expect(runningNano(foldAll(inBatch), PRICES)).toBe(expected);
  expect(expected).toBeGreaterThan(0);
});

it.each(readdirSync(LOGS))("never falls while %s is made", (name) => {
  const events = eventsOf(name);
  let last = 0;
  for (let end = 1; end <= events.length; end += 1) {
    const view = foldAll(events.slice(0, end));
    if (view.interruptions.length) return;
    const nano = runningNano(view, PRICES);
    if (nano === null) continue;
    expect(nano).toBeGreaterThanOrEqual(last);
    last = nano;
  }
});

const bill = (lines: [string, number, number][]) =>
  ({
    type: "bill.posted",
    currency: "USD",
    lines: lines.map(([kind, num_tokens, unit_price_nano]) => ({ kind, num_tokens, unit_price_nano })),
  }) as unknown as BillPosted;

it("says what the cache saved by the bill, and what writing to it cost", () => {
  const read = bill([
    ["uncached_input", 20, 100],
    ["cache_read", 64, 10],
    ["cache_write_5m", 16, 125],
  ]);
  expect(savedBy(read)).toEqual({ numRead: 64, nano: 64 * 90 - 16 * 25 });
  expect(cacheWords(read)).toMatch(/^64 tokens from the cache saved /);
  const dear = bill([
    ["uncached_input", 20, 100],
    ["cache_read", 1, 10],
    ["cache_write_5m", 160, 125],
  ]);
  expect(cacheWords(dear)).toContain("but writing to it cost");
  expect(cacheWords(bill([["output", 9, 400]]))).toBeNull();
});
