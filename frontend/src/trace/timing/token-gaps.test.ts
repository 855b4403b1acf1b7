import { expect, it } from "vitest";
import { ACCEPTED, foldAll, token } from "../fixtures";
import { tokenGaps } from "./token-gaps";

const gaps = (...times: number[]) =>
  tokenGaps(foldAll([ACCEPTED, ...times.map((at, index) => token(index, at))]));

it("counts the times between tokens as the server does", () => {
  expect(gaps(50)).toBeNull();
  expect(gaps(50, 60, 70, 70, 120)).toEqual({ mean: 17.5, median: 10, p95: 50, worst: 50 });
});
