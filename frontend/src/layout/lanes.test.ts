import { describe, expect, it } from "vitest";
import { ACCEPTED, ended, foldAll, token } from "../trace/fixtures";
import type { AnyEvent } from "../protocol/events";
import type { Span } from "../trace/timing/spans";
import { hit, Lanes, MIN_WIDTH, nearest, neighbour, runs, Track } from "./lanes";
import { random, randomSpans, span } from "./random";
import { scale, wholeRange } from "./timeline";

const SEEDS = Array.from({ length: 60 }, (_, index) => index + 1);

function track(all: Span[]): Track {
  const made = new Track();
  for (const each of all) made.add(each);
  return made;
}

describe.each(SEEDS)("any spans (seed %i)", (seed) => {
  const next = random(seed);
  const all = randomSpans(next);
  const made = track(all);
  const whole = wholeRange(all);
  const width = [0, 1, 137, 199, 1200, 3840][seed % 6]!;
  const size = (whole.end - whole.start) * (seed % 2 ? 1 : next() ** 4);
  const start = whole.start + next() * (whole.end - whole.start - size);
  const on = scale({ start, end: start + size }, width);
  const found = runs(made, on, whole.end);

  it("keeps them in order of their start, and knows how far they reach", () => {
    expect(made.starts).toEqual(all.map((each) => each.start).sort((a, b) => a - b));
    made.spans.forEach((_, index) =>
      expect(made.reach[index]).toBe(Math.max(...made.spans.slice(0, index + 1).map((each) => each.end))),
    );
  });

  it("gives finite rectangles within the width, no narrower than can be seen", () => {
    for (const run of found) {
      expect(run.x).toBeGreaterThanOrEqual(0);
      expect(run.x + run.width).toBeLessThanOrEqual(Math.max(width, 0) + 1e-9);
      expect(run.width).toBeGreaterThanOrEqual(Math.min(MIN_WIDTH, width) - 1e-9);
    }
  });

  it("draws every span that is in the window once, and no other", () => {
    const visible = all.filter((each) => each.end >= on.start && each.start <= on.end);
    expect(found.reduce((sum, run) => sum + run.count, 0)).toBe(visible.length);
    for (const each of visible) {
      const x = Math.min(Math.max(on.toX(each.start), 0), Math.max(0, width - MIN_WIDTH));
      expect(found.some((run) => run.x <= x + 1e-6 && run.x + run.width >= x - 1e-6)).toBe(true);
    }
  });

  it("walks from the first to the last and back, past each of them once", () => {
    const tracks = [
      track(all.filter((_, index) => index % 3 === 0)),
      track([]),
      track(all.filter((_, index) => index % 3)),
    ];
    const seen: Span[] = [];
    for (
      let at = neighbour(tracks, -Infinity, 1);
      at && seen.length <= all.length;
      at = neighbour(tracks, at, 1)
    )
      seen.push(at);
    expect(new Set(seen)).toEqual(new Set(all));
    expect(seen.length).toBe(all.length);
    const back: Span[] = [];
    for (
      let at = neighbour(tracks, Infinity, -1);
      at && back.length <= all.length;
      at = neighbour(tracks, at, -1)
    )
      back.push(at);
    expect(back.reverse()).toEqual(seen);
  });

  it("finds under the pointer what a look at all of them finds", () => {
    const x = next() * width;
    const right = (each: Span) => Math.max(on.toX(each.start) + MIN_WIDTH, on.toX(each.end));
    const isNear = (each: Span) => on.toX(each.start) - x <= 3 && x - right(each) <= 3;
    const at = hit([made], x, on, 3, whole.end);
    if (at) expect(isNear(at.span)).toBe(true);
    // Instants end where they start: a time's tolerance is a little less than that of the width they are drawn with.
    else expect(all.filter((each) => isNear(each) && x - on.toX(each.end) <= 3)).toEqual([]);
  });
});

it("merges thousands of spans on the same pixels into few rectangles", () => {
  const many = track(Array.from({ length: 20_000 }, (_, index) => span(index * 100, index * 100 + 90)));
  const found = runs(many, scale({ start: 0, end: 2_000_000 }, 1000), 0);
  expect(found.length).toBe(1);
  expect(found[0]!.count).toBe(20_000);
});

it("keeps apart what can be told apart", () => {
  const spread = track(Array.from({ length: 100 }, (_, index) => span(index * 1000, index * 1000 + 900)));
  expect(runs(spread, scale({ start: 0, end: 100_000 }, 1000), 0).length).toBe(100);
});

it("draws a span that nothing has ended up to now", () => {
  const open = track([span(10, 10, { isOpen: true })]);
  const on = scale({ start: 0, end: 1000 }, 1012);
  expect(runs(open, on, 500)[0]!.width).toBeCloseTo(490);
  expect(runs(open, scale({ start: 400, end: 1000 }, 612), 500)).toHaveLength(1);
});

it("goes on from a moment to what begins after it, and back to what began before", () => {
  const tracks = [track([span(0, 10), span(500, 900)]), track([span(100, 110), span(300, 300)])];
  expect(neighbour(tracks, 100, 1)!.start).toBe(300);
  expect(neighbour(tracks, 100, -1)!.start).toBe(0);
  expect(neighbour(tracks, 250, 1)!.start).toBe(300);
  expect(neighbour(tracks, 900, 1)).toBeNull();
  expect(neighbour(tracks, 0, -1)).toBeNull();
});

it("finds the nearest of a lane", () => {
  const made = track([span(0, 10), span(100, 110), span(500, 900)]);
  expect(nearest([made], 104)!.start).toBe(100);
  expect(nearest([made], 300)!.start).toBe(100);
  expect(nearest([track([]), made], 2000)!.start).toBe(500);
  expect(nearest([track([])], 0)).toBeNull();
});

describe("lanes of a view", () => {
  const events: AnyEvent[] = [
    ACCEPTED,
    token(0, 100_000),
    token(1, 300_000),
    token(2, 400_000),
    ...ended("stop"),
  ];
  const flat = (lanes: ReturnType<Lanes["update"]>) => lanes.tracks.map(({ spans }) => spans);

  it("grown event by event are those of the whole log", () => {
    const view = { ...foldAll([]), events: [] as ReturnType<typeof foldAll>["events"] };
    const lanes = new Lanes();
    const all = foldAll(events);
    for (const entry of all.events) {
      view.events.push(entry);
      lanes.update(view);
    }
    expect(flat(lanes.update({ ...all, events: view.events }))).toEqual(flat(new Lanes().update(all)));
  });

  it("shows the next token under way while there is no end, and none after it", () => {
    const open = (all: AnyEvent[]) =>
      flat(new Lanes().update(foldAll(all)))
        .flat()
        .filter((each) => each.isOpen);
    expect(open(events.slice(0, 3)).map((each) => each.title)).toEqual(["the next token"]);
    expect(open(events)).toEqual([]);
  });
});
