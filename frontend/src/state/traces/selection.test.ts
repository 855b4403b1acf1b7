import { expect, it } from "vitest";
import { compareAddress, problemOf } from "./selection";

it("refuses the same trace twice and more than six, and lets choose where there are too few", () => {
  expect(problemOf(["a", "b", "a"])).toContain("twice");
  expect(problemOf([..."abcdefg"])).toContain("at most 6");
  expect([problemOf([]), problemOf(["a"]), problemOf(["a", "b"])]).toEqual(["", "", ""]);
  expect(compareAddress(["a", "b"])).toBe("/compare?ids=a,b");
});
