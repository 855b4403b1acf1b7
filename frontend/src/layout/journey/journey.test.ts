/** The journey's pictures of any prefix of the golden logs and of any moment of an event's showing. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { AnyEvent, SafetyChecked, SamplingParams, TokenSampled } from "../../protocol/events";
import { REDACTED_PIECE } from "../../trace/bytes";
import { ACCEPTED, foldAll, PARAMS, RELEASED, processor, token, WITHHELD } from "../../trace/fixtures";
import { fold } from "../../trace/fold";
import { sceneAt } from "../../trace/journey/scenes";
import { emptyView, type TraceView } from "../../trace/view";
import { massesOf } from "./masses";
import { front, places, ribbon } from "./ribbon";
import type { Shape } from "./shapes";
import { LEAST_HEIGHT, sceneShapes } from "./scene";

const LOGS = new URL("../../../../tests/golden/logs/", `file://${import.meta.dirname}/`).pathname;
const NAMES = ["blocked", "finished", "lost", "remote", "second_turn", "stopped"];
const BEATS = [0, 0.05, 0.3, 0.6, 0.8, 0.95, 1];
const WIDTHS = [1, 280, 358, 700, 1500];
/** The height for which the pictures were made. */
const FULL_HEIGHT = 560;
const SIZE = { width: 700, height: FULL_HEIGHT };

function eventsOf(name: string): AnyEvent[] {
  const { frames } = JSON.parse(readFileSync(`${LOGS}${name}.json`, "utf8")) as {
    frames: { events: AnyEvent[] }[];
  };
  return frames.flatMap(({ events }) => events);
}

function numbersOf(shape: Shape): number[] {
  const opacity = shape.opacity ?? 1;
  if (shape.kind === "line") return [shape.x1, shape.y1, shape.x2, shape.y2, opacity];
  if (shape.kind === "text") return [shape.x, shape.y, shape.size, opacity];
  return [shape.x, shape.y, shape.width, shape.height, opacity];
}

/** The faults of a picture: none, or the keys of shapes that are no shapes, or not alone under their key. */
function faults(shapes: Shape[], isWhole: (shape: Shape) => boolean = () => true): string[] {
  const seen = new Set<string>();
  return shapes.flatMap((shape) => {
    const isNew = !seen.has(shape.key);
    seen.add(shape.key);
    const isSized = shape.kind !== "box" || (shape.width >= 0 && shape.height >= 0);
    return isNew && isSized && numbersOf(shape).every(Number.isFinite) && isWhole(shape) ? [] : [shape.key];
  });
}

const isWithin =
  (height: number) =>
  (shape: Shape): boolean => {
    const [x, y] = numbersOf(shape) as [number, number];
    const right = shape.kind === "box" ? x + shape.width : x;
    const bottom = shape.kind === "box" ? y + shape.height : y;
    return x >= 0 && right <= 700.01 && y >= 0 && bottom <= height;
  };

describe.each(NAMES)("any moment of %s", (name) => {
  it("is finite, and each of its shapes has a key of its own", () => {
    let view = emptyView();
    const found = faults(sceneShapes(view, SIZE, 1, null));
    eventsOf(name).forEach((event, index) => {
      view = fold(view, event, index + 1);
      for (const beat of BEATS)
        for (const width of WIDTHS)
          for (const height of [LEAST_HEIGHT, FULL_HEIGHT])
            found.push(...faults(sceneShapes(view, { width, height }, beat, "A question?")));
    });
    expect(found).toEqual([]);
  });

  it.each([LEAST_HEIGHT, 480, FULL_HEIGHT])("stays within its box of %i px at rest", (height) => {
    let view = emptyView();
    eventsOf(name).forEach((event, index) => {
      view = fold(view, event, index + 1);
      const shapes = sceneShapes(view, { width: 700, height }, 1, "A question?");
      expect(faults(shapes, isWithin(height))).toEqual([]);
    });
  });

  it("stays within its box with the tokens that follow the one at the playhead", () => {
    const events = eventsOf(name);
    const { tokens } = foldAll(events);
    let view = emptyView();
    events.forEach((event, index) => {
      view = fold(view, event, index + 1);
      const ahead = tokens.slice(view.tokens.length);
      const shapes = sceneShapes(view, SIZE, 1, null, { ahead, scene: "sampling" });
      expect(faults(shapes, isWithin(SIZE.height))).toEqual([]);
      const current = view.tokens.at(-1);
      if (current) expect(named(shapes, `token-${current.position}-bar`)).toBeDefined();
    });
  });
});

const named = (shapes: Shape[], key: string) => shapes.find((shape) => shape.key === key)!;

/** Each at its own moment: a view's lists grow with the log. */
function eachToken(look: (token: TokenSampled, params: SamplingParams, view: TraceView) => void) {
  for (const name of NAMES) {
    let view = emptyView();
    eventsOf(name).forEach((event, index) => {
      view = fold(view, event, index + 1);
      if (event.type === "token.sampled") look(event, view.accepted!.params, view);
    });
  }
}

describe("the masses of every recorded token", () => {
  it("sum to one after the model and after each stage", () => {
    eachToken((token, params) => {
      if (!token.candidate_ids.length) return;
      const { rows, others } = massesOf(token, params, 9);
      others.forEach((rest, step) => {
        const sum = rows.reduce((total, { shares }) => total + shares[step]!, rest);
        expect(sum).toBeGreaterThan(0.999);
        expect(sum).toBeLessThan(1.001);
      });
    });
  });

  it("lie end to end without overlap, and with what no row covers fill all from 0 to 1", () => {
    eachToken((token, params) => {
      const { rows, rest, isDrawKnown } = massesOf(token, params, 9);
      if (!isDrawKnown || !rows.length) return;
      const intervals = [...rows.flatMap(({ interval }) => interval ?? []), ...rest].sort(
        (a, b) => a.low - b.low,
      );
      intervals.forEach(({ low, high }, index) => {
        expect(high).toBeGreaterThanOrEqual(low);
        expect(low).toBeGreaterThanOrEqual((intervals[index - 1]?.high ?? 0) - 1e-9);
      });
      expect(intervals.reduce((sum, { low, high }) => sum + high - low, 0)).toBeCloseTo(1, 3);
    });
  });

  it("have the draw in the interval of the token that was drawn, on the screen too", () => {
    let num = 0;
    eachToken((token, params, view) => {
      if (token.u === null) return;
      num++;
      const row = massesOf(token, params, 9).rows.find(({ isDrawn }) => isDrawn)!;
      expect(token.u).toBeGreaterThanOrEqual(row.interval!.low);
      expect(token.u).toBeLessThan(row.interval!.high);
      const shapes = sceneShapes(view, SIZE, 1, null);
      const u = named(shapes, "draw-u");
      const hit = shapes.find((shape) => shape.kind === "box" && shape.fill === "accent");
      if (u.kind !== "line" || hit?.kind !== "box") throw new Error("the draw is not drawn");
      expect(u.x1).toBeGreaterThanOrEqual(hit.x);
      expect(u.x1).toBeLessThanOrEqual(hit.x + hit.width);
    });
    expect(num).toBeGreaterThan(30);
  });
});

describe("a draw of four tokens, of which top-k leaves two", () => {
  const view = foldAll([ACCEPTED, token(0, 100_000)]);
  const bar = (beat: number, row: number) => {
    const shape = named(sceneShapes(view, SIZE, beat, null), `draw-row-${row}-mass`);
    if (shape.kind !== "box") throw new Error("no bar");
    return shape;
  };

  it("rises from nothing, keeps its length while it lines up, and loses what a stage removed", () => {
    expect(bar(0, 0).width).toBe(0);
    expect(bar(0.16, 2).width).toBeGreaterThan(0);
    expect(bar(1, 2).width).toBe(0);
    expect(Math.abs(bar(1, 0).width - bar(0.52, 0).width)).toBeLessThan(1);
    expect(bar(0.52, 1).x).toBe(bar(0.52, 0).x);
    expect(bar(1, 1).x).toBeCloseTo(bar(1, 0).x + bar(1, 0).width, 6);
    expect(bar(0.6, 1).x).toBeGreaterThan(bar(0.52, 1).x);
  });

  it("does not show the draw before it is made", () => {
    expect(named(sceneShapes(view, SIZE, 0.5, null), "draw-u")).toBeUndefined();
    expect(named(sceneShapes(view, SIZE, 1, null), "draw-u")).toBeDefined();
  });

  it("is greedy with all on the first, and no draw", () => {
    const greedy = { ...token(0, 1), u: null, low: 0, high: 1, processors: [] };
    const { rows, steps } = massesOf(greedy, { ...PARAMS, temperature: 0 }, 9);
    expect(steps.at(-1)).toEqual({ name: "greedy", numLeft: 1 });
    expect(rows.map(({ shares }) => shares.at(-1))).toEqual([1, 0, 0]);
    expect(named(sceneShapes(foldAll([ACCEPTED, greedy]), SIZE, 1, null), "draw-u")).toBeUndefined();
  });

  it("has nothing besides the only one that is left, whatever its rounded logit gives", () => {
    const rounded = { ...token(0, 1), low: 0, high: 1 };
    const scaled = rounded.processors![0]!;
    const only = { ...rounded, processors: [scaled, processor("top_p", 1, 1, 4.0004)] };
    const { others, steps } = massesOf(only, PARAMS, 9);
    expect(others.at(-1)).toBe(0);
    expect(steps.at(-1)).toEqual({ name: "top_p", numLeft: 1 });
  });

  it("shows the drawn one also where it stands after the recorded candidates", () => {
    const ids = [1, 2, 3, 10];
    const drawn: TokenSampled = {
      ...token(0, 1),
      candidate_ids: ids,
      candidate_logits: [2, 1, 0, -3],
      candidate_pieces: ids.map(() => btoa("x")),
      u: 0.9,
      low: 0.89,
      high: 0.91,
      processors: [processor("temperature", 4000, 1, 5)],
    };
    const { rows, rest } = massesOf(drawn, PARAMS, 2);
    expect(rows.map(({ id }) => id)).toEqual([1, 10]);
    expect(rows[1]!.interval).toEqual({ low: 0.89, high: 0.91 });
    expect(rest.length).toBe(2);
  });
});

it("shows of withheld tokens only how many there were, and what stands in their place", () => {
  const view = foldAll([ACCEPTED, token(0, 1), RELEASED, token(1, 2), WITHHELD]);
  const shapes = sceneShapes(view, SIZE, 1, null);
  expect(named(shapes, "buffered-said")).toMatchObject({ ink: "danger" });
  expect(shapes.some(({ key }) => key.startsWith("buffered-piece"))).toBe(false);
  expect(named(shapes, "sent-instead-words")).toMatchObject({ text: "Gone." });
  for (const beat of BEATS)
    expect(faults(sceneShapes(view, { ...SIZE, width: 358 }, beat, null))).toEqual([]);
});

it("tells no number of bytes of a token that was redacted", () => {
  const redacted = { ...token(0, 1), piece: REDACTED_PIECE };
  const shapes = sceneShapes(foldAll([ACCEPTED, redacted]), SIZE, 1, null, { scene: "release" });
  expect(named(shapes, "buffered-said")).toMatchObject({ text: "Held in the worker: 1 token" });
  expect(named(shapes, "buffered-bytes-0")).toMatchObject({ text: "" });
});

describe("a fork", () => {
  const before = eventsOf("finished").slice(0, 6);
  const forked: AnyEvent = {
    type: "generation.forked",
    generation: 0,
    at: 80_000,
    from_request_id: "req_a",
    position: 1,
    ids: [504, 3575],
    pieces: [btoa("The"), btoa(" capital")],
    text: "The capital",
    thinking: "",
    from_generation: 0,
    rounds: [],
  };

  it("is checked at the gateway, not where its text is released", () => {
    const check = {
      ...(eventsOf("finished").find(({ type }) => type === "safety.checked") as SafetyChecked),
    };
    const at = foldAll([ACCEPTED, { ...check, layer: "output" }]);
    expect(sceneAt(at)).toBe("safety");
    const said = named(sceneShapes(at, SIZE, 1, null), "check-said");
    expect(said).toMatchObject({ text: expect.stringContaining("allowed") as string });
  });

  it("reads the tokens that it keeps after the prompt's, and has their text from the start", () => {
    const at = foldAll([...before, forked]);
    expect(sceneAt(at)).toBe("tokens");
    const kept = named(sceneShapes(at, SIZE, 1, null), "chip-42");
    expect(kept).toMatchObject({ fill: "sampling-pale" });
    const later = foldAll([...before, forked, token(2, 100_000)]);
    expect(named(sceneShapes(later, SIZE, 1, null, { scene: "release" }), "sent-before-words")).toMatchObject(
      {
        text: "The capital",
      },
    );
    for (const beat of BEATS) expect(faults(sceneShapes(later, SIZE, beat, null))).toEqual([]);
  });
});

describe("the prompt's ribbon", () => {
  const area = { x: 4, y: 10, width: 600, height: 300 };

  it.each([1, 15, 16, 17, 1204, 8192, 131_072])("has a place for each of %i tokens", (num) => {
    const on = ribbon(num, 16, area);
    const all = places(on, 0, num);
    expect(all.reduce((sum, { width }) => sum + width, 0) / on.tokenWidth).toBeCloseTo(num, 6);
    for (const place of all) {
      expect(place.x).toBeGreaterThanOrEqual(area.x);
      expect(place.x + place.width).toBeLessThanOrEqual(area.x + area.width + 1e-6);
      expect(place.y + place.height).toBeLessThanOrEqual(area.y + area.height + 1e-6);
    }
    expect(front(on, num)!.x).toBeCloseTo(all.at(-1)!.x + all.at(-1)!.width, 6);
    expect(places(on, 5, 5)).toEqual([]);
  });
});

it("ends each golden log where it ended", () => {
  const scenes = NAMES.map((name) => sceneAt(foldAll(eventsOf(name))));
  expect(scenes).toEqual(["safety", "bill", "release", "bill", "bill", "bill"]);
});
