/** The golden logs and generated tokens, saved by the server and read here, are the events that the wire carries. */
import { execFileSync } from "node:child_process";
import { decode } from "@msgpack/msgpack";
import { describe, expect, it } from "vitest";
import type { AnyEvent } from "../../protocol/events";
import { foldAll } from "../fixtures";
import { eventsOf, type SavedTrace } from "./document";

const ROOT = new URL("../../../..", `file://${import.meta.dirname}/`).pathname;
const PYTHON = process.env.SIGHTGLASS_PYTHON ?? `${ROOT}.venv/bin/python`;
const NAMES = ["blocked", "finished", "lost", "remote", "stopped", "two_generations"];

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
const read = (content: Uint8Array) => eventsOf(decode(content) as SavedTrace);
/** The reducer fills in what the wire leaves out. */
const folded = (events: AnyEvent[]) => foldAll(events).events.map(({ event }) => event);

describe.each(Object.entries(found))("%s", (_, { saved, frames }) => {
  const wire = folded(frames.flatMap((frame) => frame.events));

  it("has the wire's events", () => {
    expect(folded(read(bytes(saved)))).toEqual(wire);
  });

  it("shows them as the wire does, in JSON too", () => {
    const sorted = (event: AnyEvent) => JSON.stringify(Object.entries(event).sort());
    expect(folded(read(bytes(saved))).map(sorted)).toEqual(wire.map(sorted));
  });

  it("is refused when it has another version, whose events have other fields", () => {
    const other = { ...(decode(bytes(saved)) as SavedTrace), version: 1 };
    expect(() => eventsOf(other)).toThrow("version 1");
  });

  it("is refused when it is truncated", () => {
    expect(() => read(bytes(saved).slice(0, -9))).toThrow();
  });
});

it("leaves out what an older trace told of other users' sequences and of the pool", () => {
  const former = [
    { type: "batch.composed", at: 1, decoding: [3, 2], prefilling: [24], num_waiting: 1 },
    { type: "cache.looked_up", at: 2, block_size: 16, blocks: [7], eviction_ranks: [3], num_free_blocks: 4 },
    { type: "cache.evicted", at: 3, num_blocks: 2, blocks: [7, 9] },
    { type: "prefill.advanced", at: 4, start: 0, num_batched_tokens: 90 },
  ];
  const whole = decode(bytes(found.blocked!.saved)) as SavedTrace;
  const events = new TextEncoder().encode(JSON.stringify(former));
  expect(eventsOf({ ...whole, is_token: new Uint8Array(former.length), events })).toEqual([
    { type: "batch.composed", at: 1, num_waiting: 1 },
    { type: "cache.looked_up", at: 2, block_size: 16 },
    { type: "cache.evicted", at: 3 },
    { type: "prefill.advanced", at: 4, start: 0 },
  ]);
});
