import { expect, it } from "vitest";
import type { CompactionPreview, Preview } from "../protocol/api";
import { againWords, savingWords } from "./compaction";
import { nextWords, soonWords } from "./full-window";

it("says which turns the next prompt drops, and nothing where it drops none", () => {
  const dropped = [{ num_tokens: 10 }, { num_tokens: 1290 }];
  const words = (num: number, gone: object[]) =>
    nextWords({ dropped: gone, num_dropped_turns: num } as unknown as Preview);
  expect(words(1, dropped)).toBe("The next prompt will drop the oldest turn (1,300 tokens).");
  expect(words(2, dropped)).toContain("the oldest 2 turns");
  expect(words(0, [])).toBe("");
});

it("says what each policy does with a full window", () => {
  const told = (["drop", "summarise", "keep"] as const).map(soonWords);
  expect(new Set(told).size).toBe(3);
  expect(told[2]).toContain("will not fit");
});

it("promises no saving that the longest summary would not leave", () => {
  const preview = (now: number, after: number) =>
    savingWords({ num_tokens_now: now, most_tokens_after: after } as CompactionPreview);
  expect(preview(1000, 400)).toBe("At least 600 tokens: from 1,000 to at most 400.");
  expect(preview(300, 400)).toMatch(/^Perhaps nothing/);
  const again = (cached: number | null, num: number | null) =>
    againWords({ num_cached: cached, num_read_again: num } as CompactionPreview);
  expect(again(null, null)).toMatch(/^Unknown/);
  expect(again(500, 200)).toContain("200 cached tokens again");
  expect(again(500, 0)).toContain("none of the turns");
});
