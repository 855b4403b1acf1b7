import { expect, it } from "vitest";
import { FORK, foldAll } from "../fixtures";
import { answerOf } from "./runs";
import { stripFigure } from "../journey/strip-figures";

const view = foldAll(FORK);

it("counts what a fork took over among the tokens of which the cache had some", () => {
  expect(stripFigure(view, "cache")).toBe("45 of 48");
  expect(answerOf(view, 0, "req_a")).toMatchObject({ numPrompt: 48, numCached: 45 });
});
