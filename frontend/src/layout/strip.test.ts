import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AnyEvent, TokenSampled } from "../protocol/events";
import { token } from "../trace/fixtures";
import { SCENES } from "../trace/journey/scenes";
import { Story } from "../trace/journey/story";
import { placeOf, shownAt, slots, surpriseBars } from "./strip";
import { surpriseOf } from "../trace/sampling/surprise";

const LOGS = new URL("../../../tests/golden/logs/", `file://${import.meta.dirname}/`).pathname;
const golden = readdirSync(LOGS).map((name) => {
  const { frames } = JSON.parse(readFileSync(LOGS + name, "utf8")) as { frames: { events: AnyEvent[] }[] };
  return frames.flatMap(({ events }) => events);
});

const prefixes = fc
  .constantFrom(...golden)
  .chain((log) => fc.integer({ min: 0, max: log.length }).map((num) => log.slice(0, num)));
const widths = fc.integer({ min: 300, max: 2400 });

function storyOf(events: AnyEvent[]): Story {
  const story = new Story();
  for (const event of events) story.add(event);
  return story;
}

describe("the strip of any part of a log, at any width", () => {
  it("has each scene once, side by side, and fills its width", () => {
    fc.assert(
      fc.property(prefixes, widths, (events, width) => {
        const all = slots(storyOf(events).segments(), width);
        expect(all.map(({ scene }) => scene).toSorted()).toEqual(SCENES.map(({ id }) => id).toSorted());
        all.slice(1).forEach((slot, index) => {
          expect(slot.x).toBeGreaterThan(all[index]!.x + all[index]!.width);
        });
        expect(all.at(-1)!.x + all.at(-1)!.width).toBeLessThanOrEqual(width + 1);
      }),
    );
  });

  it("has a playhead that never goes back, and every place leads to a moment near it", () => {
    fc.assert(
      fc.property(prefixes, widths, (events, width) => {
        const story = storyOf(events);
        const all = slots(story.segments(), width);
        const end = story.segments().at(-1)?.end ?? 0;
        const places = Array.from({ length: end + 1 }, (_, shown) => placeOf(all, story, shown));
        expect(places).toEqual(places.toSorted((a, b) => a - b));
        for (let x = 0; x < width; x += 7) {
          const shown = shownAt(all, story, x);
          expect(shown).toBeGreaterThanOrEqual(Math.min(1, end));
          expect(shown).toBeLessThanOrEqual(end);
        }
      }),
    );
  });
});

it("leads from a token's column to that token", () => {
  const story = storyOf(
    golden.find((log) => log.filter(({ type }) => type === "token.sampled").length > 20)!,
  );
  const all = slots(story.segments(), 900);
  const answer = all.find(({ scene }) => scene === "sampling")!;
  story.tokenEnds.forEach((end, index) => {
    const x = answer.x + ((index + 0.5) * answer.width) / story.tokenEnds.length;
    expect(shownAt(all, story, x)).toBe(end);
  });
});

it("keeps of the tokens in one column the most surprising, and of none a token twice", () => {
  const odds = fc.option(fc.double({ min: -12, max: 0, noNaN: true }), { nil: null });
  fc.assert(
    fc.property(fc.array(odds, { maxLength: 400 }), fc.integer({ min: 2, max: 300 }), (logprobs, width) => {
      const tokens = logprobs.map((logprob, position) => ({ ...token(position, position), logprob }));
      const bars = surpriseBars(tokens, width);
      expect(bars.length).toBeLessThanOrEqual(Math.max(1, width / 2));
      expect(bars.map(({ first }) => first)).toEqual([...new Set(bars.map(({ first }) => first))]);
      const most = (list: TokenSampled[]) => Math.max(-1, ...list.map((each) => surpriseOf(each) ?? -1));
      const highest = Math.max(-1, ...bars.map(({ height }) => height ?? -1));
      expect(highest).toBeCloseTo(most(tokens) < 0 ? -1 : Math.min(1, most(tokens) / 6));
    }),
  );
});
