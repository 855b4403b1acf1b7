// @vitest-environment jsdom
/** A request with several generations is read one generation at a time. */
import { readFileSync } from "node:fs";
import { flushSync, mount, unmount } from "svelte";
import { afterEach, expect, it } from "vitest";
import type { Frame } from "../protocol/events";
import { RequestTrace } from "../state/request/request-trace.svelte";
import { decodeBase64 } from "../trace/bytes";
import { answerPieces, answerText, isOver } from "../trace/view";
import GenerationPicker from "./GenerationPicker.svelte";

const LOGS = new URL("../../../tests/golden/logs/", `file://${import.meta.dirname}/`).pathname;

let picker: object | null = null;
afterEach(() => {
  if (picker) void unmount(picker);
  picker = null;
});

function opened(name = "second_taken_over"): RequestTrace {
  const { frames } = JSON.parse(readFileSync(`${LOGS}${name}.json`, "utf8")) as { frames: Frame[] };
  return RequestTrace.saved(frames);
}

const shown = () => document.querySelector('[aria-pressed="true"]')!.textContent;
function press(name: string) {
  [...document.querySelectorAll("button")].find(({ textContent }) => textContent === name)!.click();
  flushSync();
}

it("shows the last generation, and another one when it is chosen", () => {
  const trace = opened();
  picker = mount(GenerationPicker, { target: document.body, props: { trace } });
  flushSync();
  expect(shown()).toBe("Generation 2 of 2");
  expect(trace.view.tokens).toHaveLength(40);
  press("Generation 1 of 2");
  expect(shown()).toBe("Generation 1 of 2");
  expect([trace.view.tokens.length, trace.whole.tokens.length]).toEqual([8, 8]);
  expect(isOver(trace.view)).toBe(true);
  trace.follow();
  flushSync();
  expect(shown()).toBe("Generation 2 of 2");
});

it("selects a token in the generation that is shown", () => {
  const trace = opened();
  trace.select(3);
  expect(trace.view.tokens.map(({ position }) => position)).toEqual([0, 1, 2, 3]);
  expect(trace.view.generationNumber).toBe(1);
  trace.chooseGeneration(0);
  trace.select(5);
  expect(trace.view.tokens).toHaveLength(6);
  expect(trace.view.generations).toHaveLength(1);
});

it("leads from a token of the answer to the generation that gave it", () => {
  const trace = opened();
  trace.select(-2);
  expect([trace.view.generationNumber, trace.selected]).toEqual([0, 6]);
  trace.select(8 + 4);
  expect([trace.view.generationNumber, trace.selected]).toEqual([1, 4]);
});

it("has the answer's whole text, whichever generation is shown", () => {
  const trace = opened("two_generations");
  const text = answerText(trace.whole);
  for (const number of [0, 1]) {
    trace.chooseGeneration(number);
    expect(answerText(trace.whole)).toBe(text);
    const pieces = answerPieces(trace.whole).map(({ piece }) =>
      new TextDecoder().decode(decodeBase64(piece)),
    );
    expect(pieces.join("")).toBe(text);
  }
});
