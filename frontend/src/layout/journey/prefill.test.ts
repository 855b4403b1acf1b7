import fc from "fast-check";
import { expect, it } from "vitest";
import type { AnyEvent } from "../../protocol/events";
import { ACCEPTED, foldAll, LOOKED_UP } from "../../trace/fixtures";
import { cacheShapes, prefillShapes } from "./prefill";
import { monoWidth } from "./words";
import type { BoxShape, Shape, TextShape } from "./shapes";

const AREA = { x: 0, y: 0, width: 700, height: 400 };
const ids = Array.from({ length: 40 }, (_, id) => id);
const PROMPT = { type: "prompt.tokenized", at: 1, ids, pieces: ids.map(() => btoa(" word")), special: [] };

function scene(numCached: number) {
  const hits = [16, 32].map((end) => end <= numCached);
  const read = { start: numCached, end: 40, total: 40, step_us: 900, num_sequences: 1 };
  const events = [
    { ...ACCEPTED },
    PROMPT,
    { ...LOOKED_UP, hits, num_cached_tokens: numCached },
    { type: "prefill.advanced", at: 8000, ...read },
  ] as unknown as AnyEvent[];
  return { looked: foldAll(events.slice(0, 3)), read: foldAll(events) };
}

const isPreview = (shape: Shape): shape is TextShape => shape.kind === "text" && /^preview/.test(shape.key);
const isStrong = (shape: Shape): shape is BoxShape => shape.kind === "box" && shape.fill === "prefill";

/** Share of a text's width that lies on the strong hue. */
function shareOnHue(text: TextShape, boxes: BoxShape[]): number {
  const width = monoWidth(text.text, text.size);
  const covered = boxes
    .filter((each) => each.y <= text.y && text.y <= each.y + each.height)
    .reduce(
      (sum, { x, width: wide }) =>
        sum + Math.max(0, Math.min(x + wide, text.x + width) - Math.max(x, text.x)),
      0,
    );
  return covered / width;
}

it("writes in an ink that is read on what is behind each word, at any moment of the reading", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 39 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (cached, beat) => {
        const { looked, read } = scene(cached);
        for (const shapes of [prefillShapes(read, AREA, beat), cacheShapes(looked, AREA, beat)]) {
          const boxes = shapes.filter(isStrong);
          const texts = shapes.filter(isPreview);
          expect(texts.length).toBeGreaterThan(2);
          for (const text of texts)
            // A character at the border counts for both.
            if ([...text.text].length > 3)
              expect([text.key, shareOnHue(text, boxes) > 0.5]).toEqual([text.key, text.ink === "on-hue"]);
        }
      },
    ),
  );
});

it("keeps every word, whatever ink its characters have", () => {
  const wordsOf = (shapes: Shape[]) =>
    shapes
      .filter(isPreview)
      .map(({ text }) => text)
      .join("")
      .replaceAll(" ", "");
  const { read } = scene(20);
  expect(wordsOf(prefillShapes(read, AREA, 0.5))).toBe(wordsOf(prefillShapes(read, AREA, 1)));
});
