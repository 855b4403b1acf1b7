/** The recorded logs of tests/golden, folded here, give what the running product said of the same requests. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { AnyEvent } from "../protocol/events";
import { fold } from "./fold";
import { outcomeOf } from "./outcome";
import { finalProbabilities } from "./sampling/probability";
import { emptyView, isOver, type TraceView } from "./view";

interface Golden {
  said: {
    summary: {
      cost_nano: number | null;
      duration_us: number;
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
  second_turn: "length",
  stopped: "stopped",
  taken_over: "length",
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
    expect(last.text).toBe(text);
    expect(last.at).toBe(summary.duration_us);
    expect(last.events.map(({ seq }) => seq)).toEqual(last.events.map((_, index) => index + 1));
    expect(last.events.length).toBe(summary.num_events);
    expect(last.bill?.total_nano ?? null).toBe(summary.cost_nano);
    expect(last.generation?.finish_reason ?? null).toBe(summary.finish_reason);
    if (last.generation) expect(last.generation.usage).toEqual(summary.usage);
    if (summary.error) expect(last.failed).toMatchObject(summary.error);
  });

  it("is over at its last event and no sooner", () => {
    expect(views.filter(isOver)).toEqual([last]);
    expect(views.slice(0, -1).map(outcomeOf)).toEqual(views.slice(0, -1).map(() => "running"));
    expect(outcomeOf(last)).toBe(ENDS[name]);
  });

  it("computes for each token drawn the probability by which the server drew it", () => {
    for (const token of last.tokens) {
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
