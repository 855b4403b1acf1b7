import { expect, it } from "vitest";
import { serverTiming } from "./server-timing";

it("reads each phase with its duration, and those that have none", () => {
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
