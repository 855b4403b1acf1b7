import { expect, it } from "vitest";
import { FORK, foldAll } from "../trace/fixtures";
import { tellBlocks } from "./cache/tell";
import { tellLoop } from "./loop/tell";
import type { Teller } from "./own/walk";

const told = (tell: Teller) =>
  tell(foldAll(FORK))
    .map(({ text }) => text)
    .join(" ");

it("tells what a fork computed with what it took over", () => {
  expect(told(tellLoop)).toContain("continues, 48 tokens, were read once: 3 computed");
  // 48 and 49.
  expect(told(tellLoop)).toContain("would have computed 97 tokens");
  expect(told(tellBlocks)).toContain("continues, 48 tokens, fill 3 blocks of 16.");
  expect(told(tellBlocks)).toContain("The other 3 were computed");
});
