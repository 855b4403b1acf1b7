/** The page draws the spans that the server exports: the same lanes, stretches and moments of every golden log. */
import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import type { AnyEvent } from "../../protocol/events";
import { STAGES } from "../stages";
import { ACCEPTED, foldAll } from "../fixtures";
import { spans } from "./spans";

const ROOT = new URL("../../../..", `file://${import.meta.dirname}/`).pathname;
const PYTHON = process.env.SIGHTGLASS_PYTHON ?? `${ROOT}.venv/bin/python`;

const SCRIPT = `
import json
from pathlib import Path
from benchmarks.synthetic_trace import frames
from inference.protocol.codec import decode_frame, encode_frame
from webapp.traces.export.spans import STAGES, Log, spans
logs = {path.stem: [decode_frame(json.dumps(row)) for row in json.loads(path.read_text("utf-8"))["frames"]]
  for path in sorted(Path("tests/golden/logs").glob("*.json"))}
logs["synthetic"] = frames(30)
found = {name: {
    "events": [event for frame in log for event in json.loads(encode_frame(frame))["events"]],
    "stretches": [[span.stage, span.start, span.end] for span in spans(Log(log)) if span.end is not None],
    "moments": [[span.stage, span.start] for span in spans(Log(log)) if span.end is None],
} for name, log in logs.items()}
print(json.dumps({"stages": STAGES, "logs": found}))`;

interface Exported {
  stages: Record<string, string>;
  logs: Record<
    string,
    { events: AnyEvent[]; stretches: [string, number, number][]; moments: [string, number][] }
  >;
}

const exported = JSON.parse(
  execFileSync(PYTHON, ["-c", SCRIPT], { cwd: ROOT, encoding: "utf8", maxBuffer: 1 << 26 }),
) as Exported;

const sorted = (rows: unknown[]) => rows.map((row) => JSON.stringify(row)).sort();

it("has the same lanes, by the same names", () => {
  expect(STAGES.map(({ id, label }) => [id, label])).toEqual(Object.entries(exported.stages));
});

describe.each(Object.entries(exported.logs))("%s", (_, { events, stretches, moments }) => {
  const drawn = spans(foldAll(events));

  it("draws the stretches that are exported", () => {
    const own = drawn.filter((span) => !span.isMark);
    expect(sorted(own.map(({ stage, start, end }) => [stage, start, end]))).toEqual(sorted(stretches));
  });

  it("marks no moment that is not exported", () => {
    const known = new Set(sorted(moments));
    const own = drawn.filter((span) => span.isMark);
    expect(sorted(own.map(({ stage, start }) => [stage, start])).filter((mark) => !known.has(mark))).toEqual(
      [],
    );
  });
});

it("shows the wait for a user's approval, also while it lasts", () => {
  const asked = {
    type: "tool.approval_asked",
    at: 2000,
    generation: 0,
    call_id: "call_0_0",
    name: "rename_conversation",
    arguments: "{}",
    timeout_us: 300_000_000,
  } as const;
  const decided = { type: "tool.approved", at: 5000, generation: 0, call_id: "call_0_0" } as const;
  const waits = (...log: AnyEvent[]) =>
    spans(foldAll(log))
      .filter(({ title }) => title === "waiting for approval")
      .map(({ start, end, isOpen }) => [start, end, isOpen]);
  expect(waits(ACCEPTED, asked)).toEqual([[2000, 2000, true]]);
  expect(waits(ACCEPTED, asked, decided)).toEqual([[2000, 5000, false]]);
});

it("shows the calls of one pause side by side, also while they run", () => {
  const called = (number: number, name: string) =>
    ({
      type: "tool.called",
      at: 2000,
      generation: 0,
      call_id: `call_0_${number}`,
      name,
      arguments: "{}",
      source: "builtin",
      sandbox: "",
    }) as const;
  const finished = {
    type: "tool.finished",
    at: 6000,
    generation: 0,
    call_id: "call_0_1",
    result: "4",
    is_error: true,
    duration_us: 3000,
  } as const;
  const bars = spans(foldAll([ACCEPTED, called(0, "clock"), called(1, "calculator"), finished]))
    .filter(({ stage, isMark }) => stage === "tools" && !isMark)
    .map(({ title, start, end, isOpen, lines }) => ({ title, start, end, isOpen, lines }));
  expect(bars).toEqual([
    { title: "clock", start: 2000, end: 6000, isOpen: true, lines: { at: 0, num: 2 } },
    { title: "calculator: failed", start: 3000, end: 6000, isOpen: false, lines: { at: 1, num: 2 } },
  ]);
});
