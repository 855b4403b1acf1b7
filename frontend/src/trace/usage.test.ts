import { expect, it } from "vitest";
import { inputOf } from "./usage";

it("counts all input, by whatever price", () => {
  const usage = {
    uncached_input: 1,
    cache_read: 20,
    cache_write_5m: 300,
    cache_write_1h: 4000,
    output: 50_000,
  };
  expect(inputOf(usage)).toBe(4321);
});
