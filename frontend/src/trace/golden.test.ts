/** The recorded logs of tests/golden, folded here, give what the running product said of the same requests. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { AnyEvent } from "../protocol/events";
import { fold } from "./fold";
import type { Generation } from "./generations";
import { outcomeOf } from "./outcome";
import { finalProbabilities } from "./sampling/probability";
import { tokenGaps, type TokenGaps } from "./timing/token-gaps";
import {
  allTokens,
  answerPieces,
  answerText,
  atGeneration,
  emptyView,
  firstTextUs,
  isOver,
  placeInGenerations,
  usageOf,
  type TraceView,
} from "./view";

interface Golden {
  said: {
    summary: {
      cost_nano: number | null;
      duration_us: number;
      first_text_us: number | null;
      /** Older logs lack it. */
      between_tokens_us?: Record<string, number> | null;
      error: { stage: string; code: string; message: string } | null;
      finish_reason: string | null;
      num_events: number;
      usage: Record<string, number>;
    };
    text: string;
  };
  frames: { seq: number; events: AnyEvent[] }[];
}

const LOGS = new URL("../../../tests/golden/logs/", `file://${import.meta.dirname}/`).pathname;
const ENDS: Record<string, string> = {
  blocked: "blocked",
  finished: "done",
  lost: "failed",
  remote: "length",
  second_taken_over: "length",
  second_turn: "length",
  stopped: "stopped",
  taken_over: "length",
  two_generations: "done",
};

function read(name: string): Golden {
  return JSON.parse(readFileSync(`${LOGS}${name}.json`, "utf8")) as Golden;
}

function moments({ frames }: Golden): TraceView[] {
  const views: TraceView[] = [];
  for (const frame of frames)
    frame.events.forEach((event, index) =>
      views.push(fold(views.at(-1) ?? emptyView(), event, frame.seq + index)),
    );
  return views;
}

it("has a log of each way to end", () => {
  expect(readdirSync(LOGS).sort()).toEqual(Object.keys(ENDS).map((name) => `${name}.json`));
});

describe.each(Object.keys(ENDS))("%s", (name) => {
  const golden = read(name);
  const { summary, text } = golden.said;
  const views = moments(golden);
  const last = views.at(-1)!;

  it("folds to the answer and the figures of the product's own row", () => {
    expect(answerText(last)).toBe(text);
    expect(last.at).toBe(summary.duration_us);
    expect(last.events.map(({ seq }) => seq)).toEqual(last.events.map((_, index) => index + 1));
    expect(last.events.length).toBe(summary.num_events);
    expect(last.bill?.total_nano ?? null).toBe(summary.cost_nano);
    expect(last.generation?.finish_reason ?? null).toBe(summary.finish_reason);
    if (last.generation) expect(usageOf(last)).toEqual(summary.usage);
    expect(firstTextUs(last)).toBe(summary.first_text_us);
    const gaps = tokenGaps(last);
    // The row has whole numbers.
    for (const [each, us] of Object.entries(summary.between_tokens_us ?? {}))
      expect(Math.abs(gaps![each as keyof TokenGaps] - us)).toBeLessThanOrEqual(0.5);
    if (summary.error) expect(last.failed).toMatchObject(summary.error);
  });

  it("is over at its last event and no sooner", () => {
    expect(views.filter(isOver)).toEqual([last]);
    expect(views.slice(0, -1).map(outcomeOf)).toEqual(views.slice(0, -1).map(() => "running"));
    expect(outcomeOf(last)).toBe(ENDS[name]);
  });

  it("computes for each token drawn the probability by which the server drew it", () => {
    for (const token of allTokens(last)) {
      const final = finalProbabilities(token, last.accepted!.params);
      // A server elsewhere does not tell how it drew, and nothing is made up in its place.
      expect(final === null).toBe(Boolean(last.started!.server));
      const chosen = final?.[token.candidate_ids.indexOf(token.id)];
      if (chosen == null) continue;
      // Logits are recorded with four decimals, and a temperature of 0.2 makes their rounding five times as large.
      expect(chosen).toBeCloseTo(token.high! - token.low!, 3);
    }
  });
});

describe.each(["two_generations", "second_taken_over"])("%s", (name) => {
  const golden = read(name);
  const views = moments(golden);
  const last = views.at(-1)!;
  const [first, second] = last.generations as [Generation, Generation];

  it("keeps each generation's prompt, tokens and text apart", () => {
    expect(last.generations.map(({ generationNumber }) => generationNumber)).toEqual([0, 1]);
    for (const { tokens } of [first, second])
      expect(tokens.map(({ position }) => position)).toEqual(tokens.map((_, index) => index));
    const before = [...first.prompt!.ids, ...first.tokens.map(({ id }) => id)];
    expect(second.prompt!.ids.slice(0, before.length)).toEqual(before);
    expect(first.text + second.text).toBe(golden.said.text);
    expect([first.generation!.finish_reason, second.generation!.finish_reason]).toEqual([
      "stop",
      golden.said.summary.finish_reason,
    ]);
  });

  it("tells how each attempt ended", () => {
    const ends = ({ attempts }: Generation) => attempts.map(({ number, end }) => [number, end]);
    expect(ends(first)).toEqual([[1, "finished"]]);
    expect(ends(second)).toEqual(
      name === "two_generations"
        ? [[2, "finished"]]
        : [
            [2, "lost"],
            [3, "finished"],
          ],
    );
  });

  it("is seen at its last generation, or at the chosen one", () => {
    expect(last).toMatchObject(second);
    const chosen = atGeneration(last, 0);
    expect(chosen).toMatchObject(first);
    expect([outcomeOf(chosen), usageOf(chosen), firstTextUs(chosen)]).toEqual([
      outcomeOf(last),
      usageOf(last),
      firstTextUs(last),
    ]);
    expect(atGeneration(last, 7)).toBe(last);
  });

  it("counts each token of the answer once, on from those of the generation shown", () => {
    const total = first.tokens.length + second.tokens.length;
    const positions = (view: TraceView) => answerPieces(view).map(({ position }) => position);
    expect(positions(atGeneration(last, 0))).toEqual(Array.from({ length: total }, (_, index) => index));
    expect(positions(last)[0]).toBe(-first.tokens.length);
    expect(placeInGenerations(last, -1)).toEqual({ generation: 0, position: first.tokens.length - 1 });
    expect(placeInGenerations(last, 2)).toEqual({ generation: 1, position: 2 });
    expect(placeInGenerations(atGeneration(last, 0), first.tokens.length)).toEqual({
      generation: 1,
      position: 0,
    });
  });
});
