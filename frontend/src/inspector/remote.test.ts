// @vitest-environment jsdom
/** A recorded request at a server elsewhere: missing facts are shown as not reported, and never as a number. */
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, expect, it } from "vitest";
import { flushSync, mount, unmount, type Component } from "svelte";
import type { AnyEvent } from "../protocol/events";
import { RequestTrace } from "../state/request/request-trace.svelte";
import { intervalTable } from "../trace/timing/intervals";
import { sentence } from "../trace/words/sentences";
import { spans } from "../trace/timing/spans";
import BillPanel from "./bill/BillPanel.svelte";
import SamplingPanel from "./sampling/SamplingPanel.svelte";
import TokensPanel from "./tokens/TokensPanel.svelte";

const LOG = new URL("../../../tests/golden/logs/remote.json", `file://${import.meta.dirname}/`).pathname;
const golden = JSON.parse(readFileSync(LOG, "utf8")) as { frames: { seq: number; events: AnyEvent[] }[] };

let trace: RequestTrace;
let panel: object | null = null;

beforeEach(() => {
  trace = new RequestTrace("req_remote");
  for (const frame of golden.frames)
    frame.events.forEach((event, index) => trace.receive(event, frame.seq + index));
});
afterEach(() => {
  if (panel) unmount(panel);
  panel = null;
});

function shown(component: unknown, props: object): string {
  panel = mount(component as Component, { target: document.body, props });
  flushSync();
  return document.body.textContent!.replace(/\s+/g, " ");
}

it("shows a drawn token's candidates, and neither draw nor stages", () => {
  trace.selected = trace.view.tokens.find((token) => token.is_shown)!.position;
  const text = shown(SamplingPanel, { trace });
  expect(text).toContain("entropy not reported");
  expect(text).toContain("step not reported");
  expect(text).toContain("this server does not report the draw");
  expect(text).toContain("log-probability");
  expect(text).not.toMatch(/u = |temperature|top-p|greedy|NaN|null/);
  expect(document.querySelectorAll('[data-testid="candidate"]')).toHaveLength(20);
  expect(document.querySelector(".draw")).toBeNull();
});

it("says which tokens the server did not show", () => {
  const hidden = trace.view.tokens.filter((token) => !token.is_shown);
  expect(hidden.length).toBeGreaterThan(0);
  trace.selected = hidden[0]!.position;
  const text = shown(SamplingPanel, { trace });
  expect(text).toContain("The server showed only this token's text");
  expect(text).toContain("model's own probability not reported · rank not reported");
  expect(document.querySelectorAll('[data-testid="candidate"]')).toHaveLength(0);
});

it("marks them in the strip of tokens", () => {
  shown(TokensPanel, { trace, onSelect: () => {} });
  const marked = [...document.querySelectorAll<HTMLElement>('[data-testid="token"].hidden')];
  const hidden = trace.view.tokens.filter((token) => !token.is_shown);
  expect(marked.map((chip) => Number(chip.dataset.position))).toEqual(hidden.map((token) => token.position));
  expect(marked[0]!.title).toContain("the server did not show it");
});

it("says that a cache is not reported instead of nought", () => {
  const generation = { ...trace.view.generation!, is_cache_known: false };
  trace.receive(generation, trace.view.events.length + 1);
  expect(shown(BillPanel, { trace: RequestTrace.saved([]), view: trace.view, onPanel: () => {} })).toContain(
    "did not report its cache use",
  );
});

it("tells the server's part in words and times that add up", () => {
  expect(sentence(trace.view, "queue")).toMatch(/llama\.cpp .*began to answer after/);
  const all = spans(trace.view);
  expect(all.every((span) => Number.isFinite(span.start) && span.end >= span.start)).toBe(true);
  expect(intervalTable(trace.view).intervals.map((interval) => interval.label)).toContain(
    "The server's start to the first token",
  );
});
