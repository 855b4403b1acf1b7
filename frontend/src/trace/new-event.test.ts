/** A new event needs no code on the page: its row in the generated table is enough (see test_shown.py). */
import { afterAll, beforeAll, expect, it } from "vitest";
import { type AnyEvent, SHOWN } from "../protocol/events";
import { foldAll } from "./fixtures";
import { shownMs } from "./journey/pace";
import { sceneOf } from "./journey/scenes";
import { meaning, spanName } from "./timing/span-words";
import { spans } from "./timing/spans";

const WARMED = { type: "cache.warmed", at: 9, num_blocks: 3, source: "gpu_7" } as unknown as AnyEvent;

beforeAll(() => {
  SHOWN["cache.warmed"] = {
    lane: "prefill",
    is_mark: true,
    label: "{num_blocks|block} copied from {source}",
    meaning: "Another worker had read this prompt.",
    scene: "cache",
    replay_ms: 700,
  };
});

afterAll(() => {
  delete SHOWN["cache.warmed"];
});

it("marks its moment in its lane, with its words", () => {
  const mark = spans(foldAll([WARMED])).find((span) => span.event === WARMED)!;
  expect([mark.stage, mark.start, mark.isMark]).toEqual(["prefill", 9, true]);
  expect(spanName(mark)).toBe("3 blocks copied from gpu 7");
  expect(meaning(mark)).toBe("Another worker had read this prompt.");
});

it("is a step of the journey for as long as it says", () => {
  expect(sceneOf(WARMED, false)).toBe("cache");
  expect(shownMs(WARMED)).toBe(700);
});

it("leaves an event that the page does not know without a mark", () => {
  const unknown = { ...WARMED, type: "cache.unheard" } as unknown as AnyEvent;
  expect(spans(foldAll([unknown]))).toEqual([]);
  expect([sceneOf(unknown, false), shownMs(unknown)]).toEqual([null, 0]);
});
