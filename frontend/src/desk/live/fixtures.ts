/** Moments for tests of the live pages. */
import type { LiveNow, LiveWorker, Point } from "../../protocol/api";

export const NOW_MS = 1_800_000_000_000;

export function pointOf(changed: Partial<Point> = {}): Point {
  return {
    at_ms: NOW_MS,
    num_running: 3,
    num_waiting: 1,
    num_paused: 0,
    decode_per_s: 120,
    prefill_per_s: 40,
    batch: 3,
    step_ms: 25,
    num_queried: 10,
    num_hit: 4,
    kv_used: 0.25,
    kv_cached: 0.5,
    num_preemptions: 0,
    rss_bytes: 600 << 20,
    device_used_bytes: null,
    since_ms: 1000,
    busy_ms: 120,
    ...changed,
  };
}

export function workerOf(changed: Partial<LiveWorker> = {}): LiveWorker {
  return {
    name: "host:1",
    state: "ready",
    progress: null,
    message: "",
    last_ms: NOW_MS,
    started_ms: NOW_MS - 7_500_000,
    model: "small",
    device: "cpu",
    architecture: "llama",
    quantization: "Q8_0",
    compute: "int8",
    server: null,
    num_blocks: 1000,
    block_size: 16,
    has_device_memory: false,
    device_total_bytes: null,
    point: pointOf(),
    requests: [],
    ...changed,
  };
}

export function nowOf(changed: Partial<LiveNow> = {}): LiveNow {
  const site = { num_followed: 2, num_prepare: 0, num_generate: 0, num_settle: 0 };
  return { at_ms: NOW_MS, problem: "", site, workers: [workerOf()], ...changed };
}
