import * as fc from "fast-check";
import { expect, it } from "vitest";
import { serverTiming } from "./server-timing";

it("reads each interval with its duration, and those that have none", () => {
  const header = 'auth;dur=1.25, validate; dur=3;desc="a check", miss, edge;DUR="4.5"';
  expect(serverTiming(header)).toEqual([
    { name: "auth", duration_us: 1250 },
    { name: "validate", duration_us: 3000 },
    { name: "miss", duration_us: null },
    { name: "edge", duration_us: 4500 },
  ]);
});

it("tells no header from one that is not understood", () => {
  expect(serverTiming(null)).toBeNull();
  expect(serverTiming("")).toEqual([]);
  expect(serverTiming("a;dur=x, ;dur=1")).toEqual([{ name: "a", duration_us: null }]);
});

it("takes what is quoted for one text", () => {
  const header = 'cache;desc="HIT, \\"stale; dur=9\\"";dur=1, auth;dur=2';
  expect(serverTiming(header)).toEqual([
    { name: "cache", duration_us: 1000 },
    { name: "auth", duration_us: 2000 },
  ]);
});

it("has each name once, as it came first", () => {
  expect(serverTiming("db;dur=1, db;dur=2")).toEqual([{ name: "db", duration_us: 1000 }]);
});

const name = fc.oneof(fc.constantFrom("auth", "db", 'stale"', "a b", "é", "x".repeat(33)), fc.string());
const given = fc.constantFrom("", "1", "-1", "1e400", "9007199254740993", '"2.5"', "x");
const entry = fc.tuple(name, given, fc.string()).map(([id, dur, desc]) => `${id};dur=${dur};desc="${desc}"`);
const header = fc.array(entry, { maxLength: 40 }).map((entries) => entries.join(", "));

it("gives only what the server takes back, whatever stood in the header", () => {
  fc.assert(
    fc.property(fc.oneof(header, fc.string()), (text) => {
      const intervals = serverTiming(text)!;
      expect(intervals.length).toBeLessThanOrEqual(16);
      expect(new Set(intervals.map((interval) => interval.name)).size).toBe(intervals.length);
      for (const interval of intervals) {
        expect(interval.name).toMatch(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}$/);
        const us = interval.duration_us;
        expect(us === null || (Number.isSafeInteger(us) && us >= 0)).toBe(true);
      }
    }),
  );
});
