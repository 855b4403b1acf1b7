import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PastRefusal } from "../protocol/api";
import type { Limit } from "../protocol/events";
import { againText, bindingFirst, byShareLeft, fullAfter, levelAt, refusalText } from "./limits";

const limit = (rest: Partial<Limit>): Limit => ({
  name: "input_tokens",
  subject: "user",
  currency: "",
  limit: 1000,
  remaining: 600,
  reset_unix_us: null,
  num_taken: 200,
  refill_per_s: 10,
  ...rest,
});

it("is drained by the request and fills at its rate, no further than its brim", () => {
  expect(levelAt(limit({}), 0, false)).toEqual({ left: 400, held: 0 });
  expect(levelAt(limit({}), 5e6, false)).toEqual({ left: 450, held: 0 });
  expect(levelAt(limit({}), 1e9, true)).toEqual({ left: 1000, held: 0 });
  expect(fullAfter(limit({}), { left: 400, held: 0 })).toBe(60e6);
});

it("gets a place among the open requests back when this one ends, and not before", () => {
  const open = limit({ name: "concurrency", limit: 8, remaining: 8, num_taken: 1, refill_per_s: 0 });
  expect(levelAt(open, 9e6, false)).toEqual({ left: 7, held: 1 });
  expect(levelAt(open, 9e6, true)).toEqual({ left: 8, held: 0 });
  expect(fullAfter(open, { left: 7, held: 1 })).toBeNull();
});

it("becomes what the request used when it ends", () => {
  expect(levelAt(limit({}), 0, true, 50)).toEqual({ left: 550, held: 0 });
  const budget = limit({ name: "daily_budget", refill_per_s: 0, currency: "USD" });
  expect(levelAt(budget, 9e6, false)).toEqual({ left: 400, held: 200 });
  expect(levelAt(budget, 9e6, true, 30)).toEqual({ left: 570, held: 0 });
});

it("binds first where the fewest more such requests fit", () => {
  const levels = [limit({}), limit({ name: "requests", limit: 60, remaining: 2, num_taken: 1 })].map(
    (each) => ({
      limit: each,
      level: levelAt(each, 0, false),
    }),
  );
  expect(bindingFirst(levels)).toBe(1);
  expect(bindingFirst([])).toBeNull();
});

it("is not told of a trace from before it was recorded", () => {
  const old = { name: "requests", limit: 8, remaining: 8, reset_unix_us: null };
  expect(levelAt(old as Limit, 0, false)).toBeNull();
  expect(levelAt(limit({ refill_per_s: null }), 0, false)).toBeNull();
});

it("never falls after the gateway, stays within its bounds, and is full when it says", () => {
  const amount = fc.integer({ min: 0, max: 100_000 });
  fc.assert(
    fc.property(
      amount,
      amount,
      amount,
      fc.double({ min: 0, max: 1e4, noNaN: true }),
      amount,
      amount,
      (most, remaining, taken, rate, a, b) => {
        const bucket = limit({
          limit: most,
          remaining: Math.min(most, remaining),
          num_taken: taken,
          refill_per_s: rate,
        });
        const [early, late] = [
          levelAt(bucket, Math.min(a, b), false)!,
          levelAt(bucket, Math.max(a, b), false)!,
        ];
        expect(late.left).toBeGreaterThanOrEqual(early.left);
        expect(late.left).toBeLessThanOrEqual(most);
        const left = levelAt(bucket, 0, false)!;
        const until = fullAfter(bucket, left);
        if (until !== null && taken <= bucket.remaining)
          expect(levelAt(bucket, until, false)!.left).toBeCloseTo(most, 3);
      },
    ),
  );
});

describe("refusals", () => {
  const refusal: PastRefusal = {
    at_unix_us: 1,
    code: "rate_limited",
    limit: limit({ name: "requests", subject: "key", limit: 5, remaining: 0 }),
    num_asked: 1,
    retry_after_s: 12,
    num_requests: 1,
    surface: "openai",
    model: "m",
    key: "sg-abcdefgh",
  };

  it("names the limit, whose it is and how it stood", () => {
    expect(refusalText(refusal)).toBe("requests in a minute, of the key: 0 of 5 left, 1 asked for");
    const budget = limit({ name: "daily_budget", currency: "USD", limit: 2e9, remaining: 0 });
    expect(refusalText({ ...refusal, limit: budget, num_asked: 3e9 })).toBe(
      "budget of the day: $0.00 of $2.00 left, up to $3.00 asked for",
    );
    expect(refusalText({ ...refusal, limit: null, code: "sending_stopped" })).toBe(
      "an operator had stopped the sending",
    );
  });

  it("tells when the call may come again", () => {
    expect(againText(refusal)).toBe("It may be sent again after 12 seconds.");
    expect(againText({ ...refusal, retry_after_s: 7201 })).toBe("It may be sent again after 3 hours.");
    expect(againText({ ...refusal, retry_after_s: 0 })).toBe("Waiting does not help.");
  });

  it("orders limits by the share that is left", () => {
    const [few, many] = [
      limit({ name: "requests", limit: 10, remaining: 1 }),
      limit({ name: "output_tokens", limit: 100, remaining: 50 }),
    ];
    expect(byShareLeft([{ limit: many }, { limit: few }]).map(({ limit }) => limit.name)).toEqual([
      "requests",
      "output_tokens",
    ]);
  });
});
