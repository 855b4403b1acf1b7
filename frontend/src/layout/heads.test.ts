import { expect, it } from "vitest";
import { HeadGrid } from "./heads";

const SHAPES = [
  { width: 720, layers: 30, heads: 9, tokens: 42 },
  { width: 358, layers: 30, heads: 9, tokens: 2048 },
  { width: 90, layers: 2, heads: 64, tokens: 7 },
  { width: 0, layers: 1, heads: 1, tokens: 1 },
];

it.each(SHAPES)(
  "gives every token a column and every cell its place: %o",
  ({ width, layers, heads, tokens }) => {
    const grid = new HeadGrid(width, layers, heads, tokens, 11);
    let next = 0;
    for (let column = 0; column < grid.numColumns; column++) {
      const { first, end } = grid.tokens(column);
      expect(first).toBe(next);
      expect(end).toBeGreaterThan(first);
      next = end;
    }
    expect(next).toBe(tokens);
    for (const [layer, head] of [
      [0, 0],
      [layers - 1, heads - 1],
    ] as const) {
      const cell = grid.cell(layer, head);
      const place = grid.at(cell.x + cell.width / 2, cell.y + cell.height / 2);
      expect(place).toMatchObject({ layer, head });
    }
  },
);

it("has nothing between cells and outside", () => {
  const grid = new HeadGrid(206, 2, 2, 10, 10);
  const cell = grid.cell(0, 0);
  expect(grid.at(cell.width + 1, 5)).toBeNull();
  expect(grid.at(5, cell.height + 1)).toBeNull();
  expect(grid.at(-1, 5)).toBeNull();
  expect(grid.at(5, grid.height + 5)).toBeNull();
  expect(grid.at(500, 5)).toBeNull();
});
