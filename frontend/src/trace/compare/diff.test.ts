import fc from "fast-check";
import { expect, test } from "vitest";
import { commonStart, diff, partner } from "./diff";

const ids = fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 40 });

/** Length of the longest common subsequence, by the textbook's table. */
function longestCommon(a: number[], b: number[]): number {
  let row = new Array<number>(b.length + 1).fill(0);
  for (const each of a) {
    const next = [0];
    b.forEach((other, j) => next.push(each === other ? row[j]! + 1 : Math.max(row[j + 1]!, next[j]!)));
    row = next;
  }
  return row.at(-1)!;
}

test("hunks cover both sides in order, by turns equal and not", () => {
  fc.assert(
    fc.property(ids, ids, (a, b) => {
      const found = diff(a, b);
      let [atA, atB] = [0, 0];
      found.forEach((hunk, index) => {
        expect([hunk.a, hunk.b]).toEqual([atA, atB]);
        if (index) expect(hunk.isSame).toBe(!found[index - 1]!.isSame);
        if (hunk.isSame) expect(a.slice(hunk.a, hunk.aEnd)).toEqual(b.slice(hunk.b, hunk.bEnd));
        expect(hunk.aEnd + hunk.bEnd).toBeGreaterThan(hunk.a + hunk.b);
        [atA, atB] = [hunk.aEnd, hunk.bEnd];
      });
      expect([atA, atB]).toEqual([a.length, b.length]);
    }),
  );
});

test("no shorter edit exists", () => {
  fc.assert(
    fc.property(ids, ids, (a, b) => {
      const numSame = diff(a, b).reduce((sum, hunk) => sum + (hunk.isSame ? hunk.aEnd - hunk.a : 0), 0);
      expect(numSame).toBe(longestCommon(a, b));
    }),
  );
});

test("equal tokens are each other's partners, both ways", () => {
  fc.assert(
    fc.property(ids, ids, (a, b) => {
      const found = diff(a, b);
      for (const { isSame, a: from, aEnd } of found)
        for (let index = from; index < aEnd; index++) {
          const other = partner(found, "a", index);
          if (other !== null) expect(other).toBeLessThan(b.length);
          if (isSame) expect(partner(found, "b", other!)).toBe(index);
        }
    }),
  );
});

test("long answers with nothing in common are compared in an instant", () => {
  const a = Array.from({ length: 3000 }, (_, index) => index);
  expect(
    diff(
      a,
      a.map((id) => id + 10_000),
    ),
  ).toEqual([{ isSame: false, a: 0, aEnd: 3000, b: 0, bEnd: 3000 }]);
  expect(commonStart([1, 2, 3], [1, 2])).toBe(2);
});
