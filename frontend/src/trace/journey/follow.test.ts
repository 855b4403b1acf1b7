import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AnyEvent } from "../../protocol/events";
import { ACCEPTED, ended, token } from "../fixtures";
import { FIRST_CUE, isFollowed, nextCue, SCENE_MS, SLOW_TOKENS_MS, type Cue } from "./follow";
import { Story } from "./story";

const LOGS = new URL("../../../../tests/golden/logs/", `file://${import.meta.dirname}/`).pathname;
const golden = readdirSync(LOGS).map((name) => {
  const { frames } = JSON.parse(readFileSync(LOGS + name, "utf8")) as { frames: { events: AnyEvent[] }[] };
  return frames.flatMap(({ events }) => events);
});
const FRAME_MS = 20;

function storyOf(events: AnyEvent[]): Story {
  const story = new Story();
  for (const event of events) story.add(event);
  return story;
}

/** An answer of so many tokens that are all there at once. */
const long = (num: number): AnyEvent[] => [
  ACCEPTED,
  ...Array.from({ length: num }, (_, position) => token(position, 1000 + position)),
  { type: "text.released", generation: 0, at: 9_000_000, text: "a", num_tokens: num },
  ...ended("stop"),
];

/** Every cue, with how long it was on the screen, until all was shown; `arrive` brings more of the log before a frame. */
function follow(
  story: Story,
  arrive: () => void = () => {},
): { cues: { shown: number; ms: number }[]; ms: number } {
  const cues: { shown: number; ms: number }[] = [];
  let cue: Cue = FIRST_CUE;
  let ms = 0;
  for (; ms < 600_000 && !isFollowed(story, cue); ms += FRAME_MS) {
    arrive();
    const next = nextCue(story, cue, FRAME_MS);
    if (next.heldMs === 0 || !cues.length) cues.push({ shown: next.shown, ms: 0 });
    cues.at(-1)!.shown = next.shown;
    cues.at(-1)!.ms += FRAME_MS;
    cue = next;
  }
  return { cues, ms };
}

describe("following any log, however it arrives", () => {
  const logs = fc
    .tuple(fc.constantFrom(...golden), fc.infiniteStream(fc.integer({ min: 0, max: 9 })))
    .map(([events, nums]) => ({ events, nums }));

  it("goes forward only, shows every scene for its time, and ends with the log", () => {
    fc.assert(
      fc.property(logs, ({ events, nums }) => {
        const story = new Story();
        let at = 0;
        const { cues } = follow(story, () => {
          const { value } = nums.next() as { value: number };
          for (let num = 0; num < value && at < events.length; num++) story.add(events[at++]!);
        });
        const shown = cues.map((cue) => cue.shown);
        expect(shown).toEqual(shown.toSorted((a, b) => a - b));
        for (const { start, end, scene } of story.segments()) {
          const time = cues
            .filter((cue) => cue.shown > start && cue.shown <= end)
            .reduce((sum, { ms }) => sum + ms, 0);
          if (scene !== "sampling") expect(time).toBeGreaterThanOrEqual(SCENE_MS);
        }
        expect(shown.at(-1)).toBe(story.segments().at(-1)!.end);
      }),
      { numRuns: 60 },
    );
  });
});

it("comes to the ribbon within 6 to 8 seconds, and shows the first draws one by one", () => {
  const events = golden.find((log) => log.some(({ type }) => type === "context.compared"))!;
  const { cues } = follow(storyOf(events));
  const third = events.flatMap(({ type }, index) => (type === "token.sampled" ? [index + 1] : []))[2]!;
  const before = cues.filter(({ shown }) => shown <= third).reduce((sum, { ms }) => sum + ms, 0);
  expect(before).toBeGreaterThan(5500);
  expect(before).toBeLessThan(8000);
});

it("catches up with an answer of any length in some seconds", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4000 }), (num) => {
      const { cues, ms } = follow(storyOf(long(num)));
      expect(ms).toBeLessThan(16_000);
      for (let index = 0; index < Math.min(num, SLOW_TOKENS_MS.length); index++)
        expect(cues.some(({ shown }) => shown === index + 2)).toBe(true);
    }),
    { numRuns: 40 },
  );
});
