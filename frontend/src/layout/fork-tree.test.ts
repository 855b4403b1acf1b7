import fc from "fast-check";
import { expect, it } from "vitest";
import { forkTree, type Branch } from "./fork-tree";

const branch = (requestId: string, forkedFrom: string | null, position: number | null): Branch => ({
  requestId,
  forkedFrom,
  position,
  numTokens: 30,
});

it("puts each fork below the answer it left, the latest place first", () => {
  const rows = forkTree([
    branch("a", null, null),
    branch("b", "a", 4),
    branch("c", "a", 9),
    branch("d", "b", 12),
    branch("e", null, null),
  ]);
  expect(rows.map(({ branch, parent, from }) => [branch.requestId, parent, from])).toEqual([
    ["a", null, 0],
    ["c", 0, 9],
    ["b", 0, 4],
    ["d", 2, 12],
    ["e", null, 0],
  ]);
  expect(rows.map(({ number }) => number)).toEqual([1, 3, 2, 4, 5]);
});

it("shows a fork whose parent was deleted as an answer of its own", () => {
  expect(forkTree([branch("b", "gone", 4)])).toMatchObject([{ parent: null, from: 0, to: 30 }]);
});

it("shows every answer once, after its parent, on lines that do not cross", () => {
  const forest = fc
    .array(fc.tuple(fc.nat(), fc.nat(20)), { maxLength: 12 })
    .map((places) =>
      places.map(([parent, position], index) =>
        index && parent % (index + 1) < index
          ? branch(String(index), String(parent % (index + 1)), position)
          : branch(String(index), null, null),
      ),
    );
  fc.assert(
    fc.property(forest, (branches) => {
      const rows = forkTree(branches);
      expect(rows.map(({ branch }) => branch.requestId).sort()).toEqual(
        branches.map(({ requestId }) => requestId).sort(),
      );
      rows.forEach(({ parent, from }, index) => {
        if (parent === null) return;
        expect(parent).toBeLessThan(index);
        // The upright from the parent's line passes only rows that begin at or after it.
        for (const passed of rows.slice(parent + 1, index))
          expect(passed.from >= from || passed.parent! > parent).toBe(true);
      });
    }),
  );
});
