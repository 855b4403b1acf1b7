import { expect, it } from "vitest";
import type { AnyEvent } from "../../protocol/events";
import { foldAll } from "../fixtures";
import { taintOf, taintSources } from "./taint";

const segment = (kind: string, source: string, start: number, end: number) => ({ kind, source, start, end });
const context = (...segments: object[]) =>
  ({ type: "context.assembled", generation: 0, at: 1, segments }) as unknown as AnyEvent;
const FILES = {
  type: "attachment.selected",
  at: 0,
  files: [{ id: "att_a", name: "report.pdf" }],
} as unknown as AnyEvent;
const CALLED = {
  type: "tool.called",
  generation: 0,
  at: 2,
  call_id: "call_0_0",
  name: "fetch",
} as unknown as AnyEvent;

const WHOLE = [
  FILES,
  context(
    segment("system", "conversation:system", 0, 2),
    segment("memory", "memory:1", 2, 3),
    segment("attachment", "attachment:att_a#3-5", 3, 5),
    segment("user", "message:2", 5, 6),
    segment("result", "message:1:0:results", 6, 6),
    segment("result", "message:1:1:results", 6, 7),
    segment("result", "tool:call_0_0", 7, 9),
  ),
  CALLED,
];

it("names each document, call and memory that the prompt's tokens come from", () => {
  const sources = taintSources(foldAll(WHOLE));
  expect(sources.map(({ number, label }) => `${number} ${label}`)).toEqual([
    "1 memory",
    "2 document · report.pdf, passages 3-5",
    "3 tool result · of an earlier answer",
    "4 tool result · fetch",
  ]);
  const numbers = taintOf(10, sources).map((source) => source?.number ?? 0);
  expect(numbers).toEqual([0, 0, 1, 2, 2, 0, 3, 4, 4, 0]);
});

it("has no source where the trace tells of none, or hides its name", () => {
  expect(taintSources(foldAll([]))).toEqual([]);
  const [hidden] = taintSources(foldAll([context(segment("attachment", "[redacted]", 0, 1))]));
  expect(hidden!.label).toBe("document");
});
