import { expect, it } from "vitest";
import type { Turn } from "../protocol/api";
import {
  cacheSentence,
  cacheText,
  costSentence,
  promptLength,
  promptParts,
  soFar,
  totalText,
  trimSentences,
} from "./turns";

const usage = (cache_read: number, uncached_input: number, output = 10) => ({
  cache_read,
  uncached_input,
  cache_write_5m: 0,
  cache_write_1h: 0,
  output,
});

function turn(given: Partial<Turn>): Turn {
  return {
    message_id: "m",
    request_id: "r",
    is_imported: false,
    is_cache_known: true,
    question: "Q",
    created_at: "",
    model: "m",
    status: "done",
    context: null,
    first_text_us: 1,
    duration_us: 2,
    usage: usage(80, 20),
    cost_nano: 1_500,
    currency: "USD",
    ...given,
  };
}
const context = (num_dropped: number) => ({
  window: 200,
  num_prompt_tokens: 100,
  kinds: { template: 5, system: 10, history: 60, user: 25 },
  num_dropped,
  num_dropped_tokens: num_dropped * 30,
});
const imported = turn({ request_id: null, is_imported: true, usage: null, cost_nano: null, currency: null });

it("tells the prompt's parts, the whole of it where no parts were recorded, and nothing where nothing was", () => {
  const parts = promptParts(turn({ context: context(0) }))!;
  expect(parts.map(({ value }) => value)).toEqual([15, 60, 25]);
  expect(promptParts(turn({}))).toEqual([{ name: "prompt", value: 100 }]);
  expect(promptParts(imported)).toBeNull();
  const fork = turn({ context: context(0), usage: usage(120, 40) });
  expect(promptParts(fork)!.at(-1)).toEqual({ name: "kept", value: 60 });
  expect(promptLength(fork)).toBe(160);
  expect([promptLength(turn({ context: context(0), usage: null })), promptLength(imported)]).toEqual([
    100,
    null,
  ]);
  expect(cacheText(imported)).toBe("not known");
});

it("adds up each currency by itself, and says what has no price", () => {
  const turns = [
    turn({}),
    imported,
    turn({ cost_nano: null }),
    turn({ cost_nano: 2_000, currency: "EUR" }),
    turn({}),
  ];
  expect(soFar(turns).map(totalText)).toEqual([
    "$0.0000015",
    "$0.0000015",
    "$0.0000015 + 1 unpriced",
    "$0.0000015 + €0.0000020 + 1 unpriced",
    "$0.0000030 + €0.0000020 + 1 unpriced",
  ]);
  expect(costSentence([turn({})], [])).not.toContain("beside");
  expect(costSentence([turn({})], [turn({}), imported])).toContain("1 other answer beside them cost");
});

it("sums what came from the cache over the turns that tell", () => {
  expect(cacheSentence([turn({}), imported, turn({ usage: usage(0, 100) })])).toBe(
    "80 of 200 prompt tokens (40.0\u00a0%) came from the cache.",
  );
  expect(cacheSentence([imported])).toBe("");
});

it("takes no cache for empty of which the server does not tell", () => {
  const untold = turn({ usage: usage(0, 100), is_cache_known: false });
  expect(cacheText(untold)).toBe("not known");
  expect(cacheSentence([turn({}), untold])).toContain("80 of 100 prompt tokens");
  expect(cacheSentence([untold])).toBe("");
  const trimmed = [turn({}), turn({ context: context(2), usage: usage(0, 100), is_cache_known: false })];
  expect(trimSentences(trimmed)[0]).toMatch(/that did not fit\.$/);
});

it("says what left the prompt and what of it the cache then had", () => {
  const turns = [
    turn({ context: context(0) }),
    turn({ context: context(2), usage: usage(5, 95) }),
    turn({ context: context(2) }),
  ];
  expect(trimSentences(turns)).toEqual([
    "Turn 2 left out 2 messages (60 tokens) that did not fit. It read 5 of 100 prompt tokens from the cache; " +
      "the turn before read 80 of 100 prompt tokens.",
  ]);
  expect(trimSentences([imported, turn({ context: context(1) })])[0]).toMatch(/that did not fit\.$/);
});
