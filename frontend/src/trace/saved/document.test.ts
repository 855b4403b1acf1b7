/** The golden logs and generated tokens, saved by the server and read here, are the events that the wire carries. */
import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import type { AnyEvent } from "../../protocol/events";
import { eventsOf } from "./document";
import { readMsgpack } from "./msgpack";

const ROOT = new URL("../../../..", `file://${import.meta.dirname}/`).pathname;
const PYTHON = process.env.SIGHTGLASS_PYTHON ?? `${ROOT}.venv/bin/python`;
const NAMES = ["blocked", "finished", "lost", "remote", "stopped"];

const SCRIPT = `
import base64, json
from pathlib import Path
from inference.protocol.codec import decode_frame, encode_frame
from inference.protocol.events import TokenSampled
from benchmarks.synthetic_trace import frames
from tests.webapp.traces.file.test_archive import frames as odd_frames
from webapp.traces.file.archive import encode, unpacked
found = {}
def save(name, log):
    found[name] = {
        "saved": base64.b64encode(unpacked(encode(log, {"title": "é"}))).decode(),
        "frames": [json.loads(encode_frame(frame)) for frame in log],
    }
for name in ${JSON.stringify(NAMES)}:
    rows = json.loads(Path(f"tests/golden/logs/{name}.json").read_text("utf-8"))["frames"]
    save(name, [decode_frame(json.dumps(row)) for row in rows])
save("synthetic", frames(40))
save("odd", odd_frames(9))
print(json.dumps(found))`;

type Found = Record<string, { saved: string; frames: { events: AnyEvent[] }[] }>;

const found = JSON.parse(
  execFileSync(PYTHON, ["-c", SCRIPT], { cwd: ROOT, encoding: "utf8", maxBuffer: 1 << 26 }),
) as Found;
const bytes = (base64: string) => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));

describe.each(Object.entries(found))("%s", (_, { saved, frames }) => {
  const wire = frames.flatMap((frame) => frame.events);

  it("has the wire's events", () => {
    expect(eventsOf(bytes(saved))).toEqual(wire);
  });

  it("shows them as the wire does, in JSON too", () => {
    const sorted = (event: AnyEvent) => JSON.stringify(Object.entries(event).sort());
    expect(eventsOf(bytes(saved))!.map(sorted)).toEqual(wire.map(sorted));
  });

  it("is refused when it is truncated", () => {
    expect(() => eventsOf(bytes(saved).slice(0, -9))).toThrow();
  });
});

it("leaves a trace of the former form to the server", () => {
  const script = `
import sys
from pathlib import Path
from webapp.traces.file.archive import unpacked
sys.stdout.buffer.write(unpacked(Path("tests/golden/former_columns/finished.sgtrace").read_bytes()))`;
  expect(eventsOf(new Uint8Array(execFileSync(PYTHON, ["-c", script], { cwd: ROOT })))).toBeNull();
});

it("reads every kind of MessagePack value that the specification's table has", () => {
  const script = `
import sys, msgspec
values = [None, True, False, 0, 127, 128, 255, 65535, 65536, 2**32, 2**53 - 1, -1, -32, -33, -129, -32769, -2**31 - 1,
  1.5, -0.25, "", "é" * 20, "x" * 300, "y" * 70000, b"", b"a" * 300, [], list(range(20)), [1] * 70000,
  {}, {str(i): i for i in range(20)}]
sys.stdout.buffer.write(msgspec.msgpack.encode(values))`;
  const packed = new Uint8Array(execFileSync(PYTHON, ["-c", script], { maxBuffer: 1 << 24 }));
  const values = readMsgpack(packed) as unknown[];
  const numbers = [0, 127, 128, 255, 65535, 65536, 2 ** 32, 2 ** 53 - 1, -1, -32, -33, -129, -32769];
  expect(values.slice(0, 16)).toEqual([null, true, false, ...numbers]);
  expect(values.slice(16, 23)).toEqual([
    -(2 ** 31) - 1,
    1.5,
    -0.25,
    "",
    "é".repeat(20),
    "x".repeat(300),
    "y".repeat(70000),
  ]);
  expect((values[24] as Uint8Array).length).toBe(300);
  expect(values.slice(25, 28).map((each) => (each as unknown[]).length)).toEqual([0, 20, 70000]);
  expect(values[29]).toEqual(Object.fromEntries(Array.from({ length: 20 }, (_, index) => [index, index])));
});
