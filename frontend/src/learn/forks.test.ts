import { expect, it } from "vitest";
import { FORK, foldAll } from "../trace/fixtures";
import { narrateBlocks } from "./cache/narration";
import { narrateLoop } from "./loop/narration";
import type { Narration } from "./own/reading-clock";

const told = (narrate: Narration) =>
  narrate(foldAll(FORK))
    .map(({ text }) => text)
    .join(" ");

it("tells what a fork computed with what it took over", () => {
  expect(told(narrateLoop)).toContain("continues, 48 tokens, were read once: 3 computed");
  // 48 and 49.
  expect(told(narrateLoop)).toContain("would have computed 97 tokens");
  expect(told(narrateBlocks)).toContain("continues, 48 tokens, fill 3 blocks of 16.");
  expect(told(narrateBlocks)).toContain("The other 3 were computed");
});
