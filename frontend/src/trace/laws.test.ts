// @vitest-environment jsdom
/**
 * Laws for every log, whatever is in it: each prefix is a view that agrees with itself, and however a log arrives or is
 * replayed, the same moment shows the same.
 */
import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import type { AnyEvent, Frame } from "../protocol/events";
import { RequestTrace } from "../state/request/request-trace.svelte";
import { foldAll, token } from "./fixtures";
import { outcomeOf } from "./outcome";
import { spans } from "./timing/spans";
import { story } from "./words/sentences";
import { summaryOfTrace } from "./words/summary";
import { allTokens, atGeneration, isOver, type TraceView } from "./view";

const LOGS = new URL("../../../tests/golden/logs/", `file://${import.meta.dirname}/`).pathname;

const golden: AnyEvent[][] = readdirSync(LOGS).map((name) =>
  (JSON.parse(readFileSync(LOGS + name, "utf8")) as { frames: Frame[] }).frames.flatMap(
    (frame) => frame.events,
  ),
);

/** Any of the golden logs' events in any order, and tokens: more than any engine would ever write. */
const scrambled = fc
  .array(
    fc.oneof(
      fc.constantFrom(...golden.flat()),
      fc.tuple(fc.nat(50), fc.nat(10 ** 7)).map(([position, at]) => token(position, at)),
    ),
    { maxLength: 60 },
  )
  .map((events) => events.map((event, index) => ({ ...event, at: event.at + (index % 3) })));

const logs = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom(...golden) },
  { weight: 1, arbitrary: scrambled },
);

/** A log and a place in it. */
const cutLogs = logs.chain((log) => fc.tuple(fc.constant(log), fc.nat(log.length)));

function saved(log: AnyEvent[]): RequestTrace {
  return RequestTrace.saved([{ seq: 1, events: log }]);
}

/** A view's content, without its history. */
function said(view: TraceView): object {
  return { ...view, events: view.events.map(({ seq }) => seq) };
}

describe("any prefix of a log", () => {
  it("is a view of exactly its events", () => {
    fc.assert(
      fc.property(cutLogs, ([log, num]) => {
        const prefix = log.slice(0, num);
        const view = foldAll(prefix);
        const of = (type: AnyEvent["type"]) => prefix.filter((event) => event.type === type);
        const ofEach = (type: AnyEvent["type"]) =>
          view.generations.map(({ generationNumber: number }) =>
            of(type).filter((event) => "generation" in event && event.generation === number),
          );
        expect(view.events.map(({ seq }) => seq)).toEqual(prefix.map((_, index) => index + 1));
        expect(view.generations.map(({ tokens }) => tokens)).toEqual(ofEach("token.sampled"));
        expect(view.generations.map(({ releases }) => releases)).toEqual(ofEach("text.released"));
        expect(view.generations.map(({ prefill }) => prefill)).toEqual(ofEach("prefill.advanced"));
        expect(view).toMatchObject(view.generations.at(-1)!);
        const times = prefix.filter((event) => event.type !== "request.observed").map((event) => event.at);
        expect(view.at).toBe(Math.max(0, ...times));
        expect(isOver(view)).toBe(of("request.finished").length + of("request.failed").length > 0);
      }),
    );
  });

  it("has the text that was released, and what stands for withheld text", () => {
    fc.assert(
      fc.property(cutLogs, ([log, num]) => {
        const view = foldAll(log.slice(0, num));
        const texts = new Map<number, string>();
        for (const event of log.slice(0, num)) {
          if (event.type !== "text.released" && event.type !== "text.withheld") continue;
          const own = event.type === "text.released" ? event.text : `\n\n${event.replacement}`;
          texts.set(event.generation, (texts.get(event.generation) ?? "") + own);
        }
        for (const { generationNumber, text } of view.generations)
          expect(text).toBe(texts.get(generationNumber) ?? "");
      }),
    );
  });

  it("never takes back what an earlier one showed", () => {
    fc.assert(
      fc.property(cutLogs, ([log, num]) => {
        const [before, after] = [foldAll(log.slice(0, num)), foldAll(log)];
        for (const each of before.generations) {
          const later = atGeneration(after, each.generationNumber);
          expect(later.text.startsWith(each.text)).toBe(true);
          expect(later.tokens.slice(0, each.tokens.length)).toEqual(each.tokens);
        }
        expect(after.at).toBeGreaterThanOrEqual(before.at);
      }),
    );
  });
});

describe("any prefix of a recorded log", () => {
  const prefixes = fc
    .constantFrom(...golden)
    .chain((log) => fc.nat(log.length).map((num) => foldAll(log.slice(0, num))));

  it("can be told and drawn: every span ends after it begins", () => {
    fc.assert(
      fc.property(prefixes, (view) => {
        expect(story(view)).not.toBe("");
        expect(outcomeOf(view)).not.toBe("");
        summaryOfTrace(view);
        for (const { start, end } of spans(view)) {
          expect(Number.isFinite(start)).toBe(true);
          expect(end).toBeGreaterThanOrEqual(start);
        }
      }),
    );
  });

  it("has its tokens at the positions of the answer, in order", () => {
    fc.assert(
      fc.property(prefixes, (view) => {
        expect(view.tokens.map(({ position }) => position)).toEqual(view.tokens.map((_, index) => index));
      }),
    );
  });
});

describe("however a log arrives and is replayed", () => {
  it("it ends in the same view, whatever frames it was cut into", () => {
    const cuts = logs.chain((log) =>
      fc.tuple(fc.constant(log), fc.array(fc.nat(log.length), { maxLength: 8 })),
    );
    fc.assert(
      fc.property(cuts, ([log, places]) => {
        const bounds = [0, ...places.sort((a, b) => a - b), log.length];
        const frames = bounds
          .slice(1)
          .map((end, index) => ({ seq: bounds[index]! + 1, events: log.slice(bounds[index], end) }));
        expect(said(RequestTrace.saved(frames).view)).toEqual(said(foldAll(log)));
      }),
    );
  });

  it("a moment looks the same whatever was looked at before", () => {
    const journeys = logs.chain((log) => {
      const last = Math.max(0, ...log.map((event) => event.at));
      return fc.tuple(fc.constant(log), fc.array(fc.nat(last + 10), { maxLength: 6 }), fc.nat(last));
    });
    fc.assert(
      fc.property(journeys, ([log, before, time]) => {
        const [direct, wandering] = [saved(log), saved(log)];
        for (const each of before) wandering.seek(each);
        direct.seek(time);
        wandering.seek(time);
        expect(said(wandering.view)).toEqual(said(direct.view));
        wandering.toLive();
        expect(said(wandering.view)).toEqual(said(foldAll(log)));
      }),
    );
  });

  it("a replay shows everything at its end at any speed, and nothing before its time", () => {
    vi.useFakeTimers({ toFake: ["requestAnimationFrame", "cancelAnimationFrame", "performance"] });
    try {
      fc.assert(
        fc.property(fc.constantFrom(...golden), fc.constantFrom(1, 5, 20), (log, speed) => {
          const trace = saved(log);
          trace.speed = speed;
          trace.play();
          for (let frame = 0; trace.isPlaying && frame < 4000; frame++) {
            vi.advanceTimersToNextFrame();
            for (const { at, event } of trace.view.events)
              if (event.type !== "request.observed") expect(at).toBeLessThanOrEqual(trace.position);
            expect(trace.view.at).toBeLessThanOrEqual(trace.duration);
          }
          expect(trace.isPlaying).toBe(false);
          expect({ ...said(trace.view), at: 0 }).toEqual({ ...said(foldAll(log)), at: 0 });
        }),
        { numRuns: 12 },
      );
    } finally {
      vi.useRealTimers();
    }
  });

  it("stepping token by token passes every token once, there and back", () => {
    fc.assert(
      fc.property(fc.constantFrom(...golden.filter((log) => foldAll(log).tokens.length > 0)), (log) => {
        const trace = saved(log);
        const num = allTokens(trace.whole).length;
        trace.seek(0);
        const counts = Array.from({ length: num }, () => {
          trace.step(1);
          return allTokens(trace.view).length;
        });
        expect(counts).toEqual(Array.from({ length: num }, (_, index) => index + 1));
        trace.step(-1);
        expect(allTokens(trace.view).length).toBe(num - 1);
      }),
    );
  });
});
