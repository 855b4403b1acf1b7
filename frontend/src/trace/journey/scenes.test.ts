import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { AnyEvent } from "../../protocol/events";
import { ACCEPTED, ended, failed, foldAll, RELEASED, token, WITHHELD } from "../fixtures";
import { nextStep, stepBefore } from "./log-steps";
import { progress, shownMs } from "./pace";
import { caption, closestCaption, pictureWords } from "./scene-words";
import { isAtStep, sceneAt, SCENES } from "./scenes";
import { Story } from "./story";
import { stripFigure } from "./strip-figures";
import { emptyView } from "../view";

const LOGS = new URL("../../../../tests/golden/logs/", `file://${import.meta.dirname}/`).pathname;

function logOf(name: string): { event: AnyEvent; seq: number }[] {
  const { frames } = JSON.parse(readFileSync(`${LOGS}${name}.json`, "utf8")) as {
    frames: { events: AnyEvent[] }[];
  };
  return frames.flatMap(({ events }) => events).map((event, index) => ({ event, seq: index + 1 }));
}

describe.each(["blocked", "finished", "lost", "remote", "second_turn", "stopped"])(
  "the chapters of %s",
  (name) => {
    const log = logOf(name);
    const story = new Story();
    for (const { event } of log) story.add(event);
    const found = story.chapters;

    it("follow each other, each scene once, and no step between them is of a new scene", () => {
      expect(found[0]!.start).toBe(1);
      expect(new Set(found.map(({ scene }) => scene)).size).toBe(found.length);
      found.slice(1).forEach(({ start }, index) => {
        const before = found.slice(0, index + 1).map(({ scene }) => scene);
        for (let at = nextStep(log, found[index]!.end)!; at < start; at = nextStep(log, at)!)
          expect(before).toContain(sceneAt(foldAll(log.slice(0, at).map(({ event }) => event))));
        expect(found[index]!.end).toBeLessThan(start);
      });
    });

    it("are all walked through by steps, there and back", () => {
      const there = [1];
      for (let at: number | null = 1; (at = nextStep(log, at));) there.push(at);
      expect(there.at(-1)).toBe(log.length);
      const back = [log.length];
      while (back.at(-1)! > 1) back.push(stepBefore(log, back.at(-1)!));
      expect(back.reverse().filter((at) => there.includes(at))).toEqual(back);
    });

    it("have a sentence and words for their picture at each moment", () => {
      let events: AnyEvent[] = [];
      for (const { event } of log) {
        events = [...events, event];
        const view = foldAll(events);
        for (const { id } of SCENES)
          for (const beat of [0, 0.3, 0.6, 1]) {
            expect(caption(view, id, beat)).toMatch(/\S.*\.$/s);
            expect(caption(view, id, beat)).not.toMatch(/undefined|NaN|null/);
          }
        expect(pictureWords(view, sceneAt(view))).not.toMatch(/undefined|NaN|null/);
      }
    });
  },
);

it("tells of each scene only what is recorded", () => {
  for (const { id } of SCENES) expect(stripFigure(emptyView(), id)).toBeNull();
  const view = foldAll([ACCEPTED, token(0, 1), token(1, 2), RELEASED, ...ended("stop")]);
  expect(stripFigure(view, "sampling")).toBe("2 tokens · 1\u00a0µs");
  expect(stripFigure(view, "release")).toBe("0 checks");
  expect(stripFigure(view, "bill")).toBeNull();
  expect(caption(view, "bill")).toBe("The model computed nothing, so there is nothing to pay.");
});

it("tells of buffered tokens that they wait, and of withheld ones that they never left", () => {
  const buffered = foldAll([ACCEPTED, token(0, 1)]);
  expect(caption(buffered, "release")).toBe("1 token waits for the safety check before the browser gets it.");
  expect(stripFigure(foldAll([ACCEPTED, token(0, 1), WITHHELD]), "release")).toBe("withheld");
});

it("ends a failed request in the scene in which it failed, with the reason", () => {
  const view = foldAll([ACCEPTED, failed("safety", "blocked")]);
  expect(sceneAt(view)).toBe("safety");
  expect(caption(view, "safety")).toContain("did not reach the model");
  expect(sceneAt(foldAll([ACCEPTED, token(0, 1), failed("generation", "worker_lost")]))).toBe("sampling");
});

it("tells a draw only of a token that was drawn", () => {
  const greedy: AnyEvent = { ...token(0, 1), u: null };
  const told = (event: AnyEvent): string | null => closestCaption(foldAll([ACCEPTED, event]), 0);
  expect(told(token(0, 1))).toContain("The draw took");
  expect(told(greedy)).toContain("Without a draw, the model took");
});

it("does not take what follows silently for a step", () => {
  const stored: AnyEvent = {
    type: "cache.stored",
    generation: 0,
    at: 2,
    num_blocks: 1,
    ttl: "none",
    indices: null,
  };
  expect(isAtStep(foldAll([ACCEPTED, token(0, 1)]))).toBe(true);
  expect(isAtStep(foldAll([ACCEPTED, token(0, 1), stored]))).toBe(false);
});

describe("the pace of an event's showing", () => {
  const event = token(9, 0);

  it("takes its own time, or what there is until the next, and never moves too quickly to be seen", () => {
    expect(progress(event, 0, 10_000)).toBe(0);
    expect(progress(event, shownMs(event) / 2, 10_000)).toBeCloseTo(0.5);
    expect(progress(event, 400, 800)).toBeCloseTo(0.5);
    expect(progress(event, 5, 50)).toBe(1);
    expect(progress(event, 9000, 10_000)).toBe(1);
  });

  it("is slower for the first tokens", () => {
    expect(shownMs(token(0, 0))).toBeGreaterThan(shownMs(token(1, 0)));
    expect(shownMs(token(1, 0))).toBeGreaterThan(shownMs(event));
  });
});
