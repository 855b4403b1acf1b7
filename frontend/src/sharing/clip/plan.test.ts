import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { AnyEvent } from "../../protocol/events";
import { storyOf } from "../../trace/journey/story";
import { fold } from "../../trace/fold";
import { emptyView } from "../../trace/view";
import { frameShapes, HEIGHT, WIDTH } from "./frame";
import { clipPlan, type Log } from "./plan";

const LOGS = new URL("../../../../tests/golden/logs/", `file://${import.meta.dirname}/`).pathname;

function read(file: string): Log {
  const { frames } = JSON.parse(readFileSync(LOGS + file, "utf8")) as {
    frames: { seq: number; events: AnyEvent[] }[];
  };
  return frames.flatMap(({ seq, events }) => events.map((event, index) => ({ event, seq: seq + index })));
}

describe.each(readdirSync(LOGS))("%s", (file) => {
  const log = read(file);
  const plan = clipPlan(log, 10);

  it("takes no more than about ten seconds and never goes back", () => {
    expect(plan.length / 10).toBeLessThan(14);
    const shown = plan.map((moment) => moment.shown);
    expect(shown).toEqual([...shown].sort((a, b) => a - b));
    expect(shown.at(-1)).toBe(log.length);
  });

  it("shows each scene that the request reached for at least 0.7 s", () => {
    for (const { scene } of storyOf(log).chapters.filter((each) => each.scene !== "release"))
      expect(plan.filter((moment) => moment.scene === scene).length).toBeGreaterThanOrEqual(7);
  });

  it("draws something in each frame, and nothing outside of it", () => {
    let view = emptyView();
    const views = [view, ...log.map(({ event, seq }) => (view = fold(view, event, seq)))];
    for (const moment of plan.filter((_, index) => index % 4 === 0)) {
      const shapes = frameShapes(views[moment.shown]!, view, moment);
      expect(shapes.length).toBeGreaterThan(2);
      for (const shape of shapes) {
        const [x, y] = shape.kind === "line" ? [shape.x1, shape.y1] : [shape.x, shape.y];
        expect(x).toBeGreaterThanOrEqual(-1);
        expect(x).toBeLessThanOrEqual(WIDTH + 1);
        expect(y).toBeGreaterThanOrEqual(-40);
        expect(y).toBeLessThanOrEqual(HEIGHT + 1);
      }
    }
  });
});

it("has nothing to show of an empty log", () => {
  expect(clipPlan([], 10)).toEqual([]);
});
