import { expect, it } from "vitest";
import type { AnyEvent, BillLine, Usage } from "../protocol/events";
import { coveredBy, isEqual } from "./bill";
import { ended, foldAll, token } from "./fixtures";

function view(usage: Partial<Usage>, numPrompt: number) {
  const prompt = {
    type: "prompt.tokenized",
    at: 1,
    ids: Array.from({ length: numPrompt }),
    pieces: [],
    special: [],
  };
  const whole = {
    uncached_input: 0,
    cache_read: 0,
    cache_write_5m: 0,
    cache_write_1h: 0,
    output: 2,
    ...usage,
  };
  const finished = { ...ended("stop")[0]!, usage: whole } as AnyEvent;
  return foldAll([prompt as unknown as AnyEvent, token(0, 1), token(1, 2), finished]);
}

it("leads from each line to its tokens, which lie side by side", () => {
  const shown = view({ cache_read: 32, cache_write_5m: 16, uncached_input: 7 }, 55);
  expect(coveredBy(shown, "cache_read")).toEqual({ start: 0, end: 32 });
  expect(coveredBy(shown, "cache_write_5m")).toEqual({ start: 32, end: 48 });
  expect(coveredBy(shown, "uncached_input")).toEqual({ start: 48, end: 55 });
  expect(coveredBy(shown, "output")).toEqual({ start: 55, end: 57 });
  expect(coveredBy(shown, "cache_write_1h")).toBeNull();
});

it("does not guess where the counts are not the tokens that are there", () => {
  expect(coveredBy(view({ uncached_input: 7 }, 9), "uncached_input")).toBeNull();
  expect(coveredBy(view({ uncached_input: 9, output: 3 }, 9), "output")).toBeNull();
});

const LINE: BillLine = { kind: "output", num_tokens: 2, unit_price_nano: 3, amount_nano: 6 };
const BILL = { lines: [LINE], total_nano: 6, currency: "USD", price_version: "2026-01-01" };

it.each([
  ["the same", {}, true],
  ["another total", { total_nano: 7 }, false],
  ["another price version", { price_version: "2026-02-01" }, false],
  ["another line", { lines: [{ ...LINE, num_tokens: 3 }] }, false],
  ["a line more", { lines: [LINE, { ...LINE, num_tokens: 0, amount_nano: 0 }] }, false],
])("compares a bill with the ledger: %s", (_, change, equal) => {
  expect(isEqual(BILL, { ...BILL, ...change })).toBe(equal);
});
