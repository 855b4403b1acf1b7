import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AnyEvent, TokenSampled } from "../../protocol/events";
import { ended, token } from "../fixtures";
import { shownMs } from "./pace";
import { MOST_MS, NEWS_WORDS, planOf, stepsOf } from "./scene-plan";
import { Story } from "./story";

const LOGS = new URL("../../../../tests/golden/logs/", `file://${import.meta.dirname}/`).pathname;
const number = (events: AnyEvent[]) => events.map((event, index) => ({ event, seq: index + 1 }));
const golden = readdirSync(LOGS).map((name) => {
  const { frames } = JSON.parse(readFileSync(LOGS + name, "utf8")) as { frames: { events: AnyEvent[] }[] };
  return frames.flatMap(({ events }) => events);
});
const beginning = golden
  .find((log) => log.some(({ type }) => type === "context.compared"))!
  .filter(({ at, type }) => at < 217_401 && type !== "token.sampled");

/** An answer of so many tokens, each let out at once, with whatever else happens on its way. */
function long(num: number, extras: { at: number; event: AnyEvent }[] = []) {
  const answer = Array.from({ length: num }, (_, position) => {
    const at = 300_000 + position * 10_000;
    const happened = extras.filter((each) => each.at === position).map(({ event }) => ({ ...event, at }));
    const released: AnyEvent = {
      type: "text.released",
      generation: 0,
      at,
      text: " a",
      num_tokens: position + 1,
    };
    return [...happened, token(position, at), released];
  }).flat();
  return number([...beginning, ...answer, ...ended("stop")]);
}

const time = (log: { event: AnyEvent }[], ends: { end: number }[]) =>
  ends.reduce((sum, { end }) => sum + shownMs(log[end - 1]!.event), 0);

const EXTRAS: [string, AnyEvent][] = [
  [
    "the first guess that was right",
    {
      type: "draft.verified",
      generation: 0,
      at: 0,
      position: 1,
      ids: [10],
      pieces: [""],
      num_accepted: 1,
      source: "ngram",
    },
  ],
  [
    "the first guess that was wrong",
    {
      type: "draft.verified",
      generation: 0,
      at: 0,
      position: 1,
      ids: [10],
      pieces: [""],
      num_accepted: 0,
      source: "ngram",
    },
  ],
  [
    "the grammar removes tokens",
    { type: "grammar.masked", generation: 0, at: 0, position: 1, num_allowed: 2, duration_us: 3 },
  ],
  [
    "the engine preempts the request",
    { type: "generation.preempted", generation: 0, at: 0, num_tokens: 9, num_blocks: 1 },
  ],
  [
    "another worker continues",
    { type: "generation.resumed", generation: 0, at: 0, attempt: 2, worker: null, num_tokens: 9 },
  ],
  ["the user pressed Stop", { type: "request.cancelled", at: 0, by: "user" }],
];

it("stops at each step of a short log", () => {
  for (const log of golden.map(number)) {
    if (
      time(
        log,
        stepsOf(log).map((end) => ({ end })),
      ) > MOST_MS
    )
      continue;
    expect(planOf(log).map(({ end }) => end)).toEqual(stepsOf(log));
  }
});

describe("the plan of a log of any length", () => {
  const logs = fc
    .tuple(
      fc.integer({ min: 0, max: 900 }),
      fc.array(fc.tuple(fc.nat(899), fc.constantFrom(...EXTRAS.map(([, event]) => event))), {
        maxLength: 12,
      }),
    )
    .map(([num, extras]) => ({
      num,
      log: long(
        num,
        extras.map(([at, event]) => ({ at, event })),
      ),
    }));

  it("is over in time, goes forward, and ends where the log does", () => {
    fc.assert(
      fc.property(logs, ({ log }) => {
        const plan = planOf(log);
        expect(time(log, plan)).toBeLessThanOrEqual(MOST_MS);
        expect(plan.map(({ end }) => end)).toEqual(plan.map(({ end }) => end).toSorted((a, b) => a - b));
        expect(new Set(plan.map(({ end }) => end)).size).toBe(plan.length);
        expect(plan.at(-1)!.end).toBe(log.length);
      }),
      { numRuns: 60 },
    );
  });

  it("shows the first tokens and the last, each scene once, and only steps that there are", () => {
    fc.assert(
      fc.property(logs, ({ num, log }) => {
        const ends = planOf(log).map(({ end }) => end);
        const shown = new Set(ends);
        const tokens = log.flatMap(({ event }, index) => (event.type === "token.sampled" ? [index + 1] : []));
        expect(tokens.slice(0, 3).every((end) => shown.has(end))).toBe(true);
        if (num) expect(shown.has(tokens.at(-1)!)).toBe(true);
        const story = new Story();
        for (const { event } of log) story.add(event);
        for (const { start } of story.chapters) expect(shown.has(start)).toBe(true);
        const steps = new Set(stepsOf(log));
        expect(ends.every((end) => steps.has(end))).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it("tells once of whatever is new on the way, at the step at which it is seen", () => {
    fc.assert(
      fc.property(logs, ({ num, log }) => {
        const plan = planOf(log);
        if (plan.length === stepsOf(log).length) return;
        const told = plan.flatMap(({ news }) => news?.split("; ") ?? []);
        expect(new Set(told).size).toBe(told.length);
        for (const [words, { type }] of EXTRAS) {
          const has = (event: AnyEvent) =>
            event.type === type &&
            (event.type !== "draft.verified" || event.num_accepted > 0 === words.endsWith("right"));
          expect(told.includes(words)).toBe(log.some(({ event }) => has(event)));
        }
        if (num) expect(told).toContain("the last token");
        expect(told.every((words) => NEWS_WORDS.includes(words))).toBe(true);
      }),
      { numRuns: 60 },
    );
  });
});

it("stops at the least likely draw, and where a character waits for its other bytes", () => {
  const log = long(200);
  const change = (position: number, rest: Partial<TokenSampled>) => {
    const index = log.findIndex(({ event }) => event.type === "token.sampled" && event.position === position);
    log[index] = { ...log[index]!, event: { ...log[index]!.event, ...rest } as AnyEvent };
    return index + 1;
  };
  const odd = change(90, { logprob: -9 });
  const bytes = change(120, { piece: btoa("\u00f0\u009f") });
  const news = new Map(planOf(log).map(({ end, news }) => [end, news]));
  expect(news.get(odd)).toBe("the least likely draw");
  expect(news.get(bytes)).toBe("a character waits for its other bytes");
});
