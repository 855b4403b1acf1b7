import fc from "fast-check";
import { expect, test } from "vitest";
import { Recent } from "./recent";

test("what was looked at last stays, and what is in use", () => {
  const looks = fc.array(fc.integer({ min: 0, max: 9 }).map(String));
  fc.assert(
    fc.property(looks, fc.nat(5), fc.constantFrom(..."0123456789"), (looked, numKept, used) => {
      const recent = new Recent();
      for (const id of looked) recent.touch(id);
      const gone = recent.surplus(numKept, (id) => id !== used);
      const newestFirst = [...new Set(looked.toReversed())].filter((id) => id !== used);
      expect(gone.toReversed()).toEqual(newestFirst.slice(numKept));
    }),
  );
});

test("what was let go is not named again", () => {
  const recent = new Recent();
  recent.touch("a");
  recent.forget("a");
  expect(recent.surplus(0, () => true)).toEqual([]);
});
