import { expect, it } from "vitest";
import { pressed, sortOf, SORTABLE, withSort } from "./sorting";

it("sorts newest first unless the address says otherwise", () => {
  expect(sortOf("q=a")).toEqual({ field: "created_at", isDescending: true });
  expect(sortOf("q=a&sort=cost_nano")).toEqual({ field: "cost_nano", isDescending: false });
});

it("begins with the largest, turns it round, and forgets nothing else", () => {
  const first = pressed("q=a", "cost_nano");
  expect(first).toBe("q=a&sort=-cost_nano");
  const second = pressed(first, "cost_nano");
  expect(second).toBe("q=a&sort=cost_nano");
  expect(pressed(second, "cost_nano")).toBe(first);
  expect(pressed(second, "created_at")).toBe("q=a");
  expect(pressed("q=a", "created_at")).toBe("q=a&sort=created_at");
});

it("comes back from the address as it went in", () => {
  for (const { field } of Object.values(SORTABLE))
    for (const isDescending of [true, false])
      expect(sortOf(withSort("tag=x", { field, isDescending }))).toEqual({ field, isDescending });
});
