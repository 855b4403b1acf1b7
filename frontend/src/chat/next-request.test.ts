import fc from "fast-check";
import { expect, test } from "vitest";
import type { Preview } from "../protocol/api";
import { cacheWords, partsOf, priceWords, roomWords, slicesOf, waitWords } from "./next-request";

const KINDS = ["system", "template", "history", "user"] as const;

const previews: fc.Arbitrary<Preview> = fc
  .tuple(
    fc.array(fc.tuple(fc.constantFrom(...KINDS), fc.integer({ min: 1, max: 50 })), { minLength: 1 }),
    fc.option(fc.nat(400)),
  )
  .map(([pieces, cached]) => {
    let reached = 0;
    const segments = pieces.map(([kind, size]) => {
      const start = reached;
      reached += size;
      return { kind, role: "", start, end: reached, source: "", text: "", breakpoint: null, image: null };
    });
    return {
      window: 8192,
      reserved_output: 300,
      num_prompt_tokens: reached,
      num_output_tokens: 300,
      segments,
      tools: [],
      dropped: [],
      num_dropped_turns: 0,
      summarised: [],
      num_cached_tokens: cached === null ? null : Math.min(cached, reached),
      price: null,
      wait: { num_queued: 0, num_recent: 0, first_text_us: null },
    };
  });

const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);

test("the parts are the whole prompt, and what is cached of them all that is cached", () => {
  fc.assert(
    fc.property(previews, (preview) => {
      const parts = partsOf(preview);
      expect(sum(parts.map(({ numTokens }) => numTokens))).toBe(preview.num_prompt_tokens);
      expect(sum(parts.map(({ numSegments }) => numSegments))).toBe(preview.segments.length);
      const isUnknown = preview.num_cached_tokens === null;
      expect(parts.every(({ numCached }) => (numCached === null) === isUnknown)).toBe(true);
      expect(sum(parts.map(({ numCached }) => numCached ?? 0))).toBe(preview.num_cached_tokens ?? 0);
    }),
  );
});

test("the bar's slices stand end to end, the cached ones first", () => {
  fc.assert(
    fc.property(previews, (preview) => {
      const slices = slicesOf(preview);
      let reached = 0;
      for (const { start, share } of slices) {
        expect(start).toBeCloseTo(reached);
        reached += share;
      }
      expect(reached).toBeCloseTo(1);
      const cached = sum(slices.filter(({ isCached }) => isCached).map(({ share }) => share));
      expect(cached * preview.num_prompt_tokens).toBeCloseTo(preview.num_cached_tokens ?? 0);
      expect(slices.findLastIndex(({ isCached }) => isCached)).toBeLessThan(
        slices.findIndex(({ isCached }) => !isCached) +
          Number(slices.every(({ isCached }) => isCached)) * 1e9 +
          1e-9,
      );
    }),
  );
});

const [PREVIEW] = fc.sample(previews, { numRuns: 1, seed: 1 }) as [Preview];

test("what is not known is said to be unknown", () => {
  const unknown = { ...PREVIEW, num_cached_tokens: null };
  expect(cacheWords(unknown)).toMatch(/^Unknown/);
  expect(priceWords(unknown, 1)).toMatch(/^Unpriced/);
  expect(waitWords(unknown)).toMatch(/^Unknown/);
});

test("the price is that of all answers, with its currency", () => {
  const price = { currency: "EUR", version: "", prompt_nano: 1000, most_answer_nano: 2000 };
  expect(priceWords({ ...PREVIEW, price }, 1)).toContain("at most €0.0000030 with 300 tokens");
  expect(priceWords({ ...PREVIEW, price }, 3)).toContain("at most €0.0000090");
});

test("what is left out and who waits in front is told", () => {
  const dropped = [{ kind: "history" as const, source: "", num_tokens: 40, reason: "", text: "" }];
  expect(roomWords({ ...PREVIEW, dropped })).toContain("1 old message with 40 tokens will not fit.");
  const wait = { num_queued: 1, num_recent: 5, first_text_us: 160_000 };
  expect(waitWords({ ...PREVIEW, wait })).toBe(
    "About 160\u00a0ms to the first text, as in your last 5 requests. 1 request waits in front.",
  );
});
