/** Checks the exhibits' sentences on real requests: also on those stopped, blocked, lost or made elsewhere. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { AnyEvent, Frame } from "../protocol/events";
import { RequestTrace } from "../state/request/request-trace.svelte";
import { ACCEPTED, foldAll, LOOKED_UP } from "../trace/fixtures";
import type { TraceView } from "../trace/view";
import { narrateBlocks } from "./cache/narration";
import { EXHIBITS } from "./exhibits";

const LOGS = new URL("../../../tests/golden/logs/", `file://${import.meta.dirname}/`).pathname;

function wholeOf(path: string): TraceView {
  const document = JSON.parse(readFileSync(path, "utf8")) as {
    frames?: Frame[];
    trace?: { frames: Frame[] };
  };
  return RequestTrace.saved(document.frames ?? document.trace!.frames).whole;
}

const WHOLES: [string, TraceView][] = [
  ...readdirSync(LOGS).map((name): [string, TraceView] => [name, wholeOf(LOGS + name)]),
  ["the recorded example", wholeOf(`${import.meta.dirname}/../example/example.json`)],
];

describe.each(WHOLES)("%s", (_, whole) => {
  it.each(EXHIBITS.map((exhibit) => [exhibit.id, exhibit] as const))("is told by %s", (_, { narrate }) => {
    const lines = narrate(whole);
    expect(lines.length).toBeGreaterThan(0);
    for (const { text, start, end } of lines) {
      expect(text).toMatch(/^.+\.$/su);
      expect(text).not.toMatch(/undefined|NaN|null|Infinity|\[object/);
      expect(end).toBeGreaterThanOrEqual(start);
      expect(end).toBeLessThanOrEqual(Math.max(whole.at, 0));
    }
  });
});

it("tells of the example by its own numbers", () => {
  const whole = wholeOf(`${import.meta.dirname}/../example/example.json`);
  const told = (id: string) =>
    EXHIBITS.find((exhibit) => exhibit.id === id)!
      .narrate(whole)
      .map(({ text }) => text)
      .join(" ");
  expect(told("tokenizer")).toContain(`into ${whole.prompt!.ids.length} tokens`);
  expect(told("sampling")).toContain(`of ${whole.tokens.length} tokens were the model’s first choice`);
});

it("counts what a fork read behind its prompt: the answer that it goes on from", () => {
  const ids = [...Array(20).keys()];
  const pieces = ids.map(() => "YQ==");
  const view = foldAll([
    ACCEPTED,
    { type: "prompt.tokenized", at: 1, ids, pieces, special: [], duration_us: 1 },
    { type: "generation.forked", at: 2, position: 20, ids, pieces, text: "" },
    { ...LOOKED_UP, hits: [true, true] },
    { type: "prefill.advanced", at: 8000, start: 32, end: 40, total: 40, step_us: 900, batch_size: 1 },
  ] as unknown as AnyEvent[]);
  const told = narrateBlocks(view).map(({ text }) => text);
  expect(told[0]).toBe(
    "Its prompt and the answer it continues, 40 tokens, fill 2 blocks of 16 and 8 of another.",
  );
  expect(told.join(" ")).toContain("The other 8 were computed");
});
