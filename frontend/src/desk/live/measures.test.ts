import { expect, it } from "vitest";
import type { LiveWorker, Point } from "../../protocol/api";
import { startsOf } from "./course";
import { NOW_MS, nowOf, pointOf, workerOf } from "./fixtures";
import {
  busyFigure,
  fleetFigures,
  portion,
  queueTexts,
  rate,
  UNKNOWN,
  workerFigures,
  workersText,
} from "./measures";
import { aboutText, span, stateText, tokensText, troubleText } from "./words";

const starts = startsOf(NOW_MS);
const texts = (figures: { name: string; text: string }[]) =>
  Object.fromEntries(figures.map(({ name, text }) => [name, text.replaceAll("\u00a0", " ")]));

it("tells all that a worker knows", () =>
  expect(texts(workerFigures(workerOf(), [pointOf()], starts))).toEqual({
    Streams: "3",
    Waiting: "1",
    Batch: "3",
    "Answer tokens a second": "120",
    "Prompt tokens a second": "40",
    "Step time": "25 ms",
    "KV blocks in use": "25 %",
    "Cache hit rate": "40 %",
    Memory: "600 MiB",
  }));

it("tells a device's memory where there is a device, and says where the driver does not", () => {
  const memory = (worker: LiveWorker) =>
    workerFigures(worker, [], starts)
      .filter(({ name }) => name === "GPU memory")
      .map(({ text, note }) => [text, note].join(", ").replaceAll("\u00a0", " "));
  expect(memory(workerOf())).toEqual([]);
  const point = pointOf({ device_used_bytes: 3 * 2 ** 30 });
  expect(memory(workerOf({ has_device_memory: true, device_total_bytes: 80 * 2 ** 30, point }))).toEqual([
    "3.0 GiB, of 80.0 GiB, by all processes",
  ]);
  expect(memory(workerOf({ has_device_memory: true }))).toEqual([`${UNKNOWN}, The driver does not tell it.`]);
});

it("shares the known time between steps and idleness, and says which time that is", () => {
  const busy = (points: Point[]) => {
    const found = busyFigure(nowOf(), new Map([["host:1", points]]), starts);
    return [found.text, found.note].join(" ").replaceAll("\u00a0", " ");
  };
  const at = (ms: number, busy_ms: number | null, since_ms: number | null = 1000) =>
    pointOf({ at_ms: NOW_MS - ms, busy_ms, since_ms });
  expect(busy([])).toBe(`${UNKNOWN} `);
  expect(busy([at(3000, null, null), at(2000, null)])).toBe(`${UNKNOWN} `);
  expect(busy([at(2000, 240), at(1000, 0)])).toBe("12 % only the last minute is known");
  expect(busy([at(899_000, 0, 1000), at(1000, 3000, 1000)])).toBe("100 % ");
});

it("shows what a lost worker does as unknown, never as zero", () => {
  const lost = workerOf({ state: "lost", point: null });
  const found = texts(workerFigures(lost, [], starts));
  expect(new Set(Object.values(found))).toEqual(new Set([UNKNOWN]));
  expect(texts(fleetFigures(nowOf({ workers: [lost] }), new Map(), starts))["Streams now"]).toBe(UNKNOWN);
});

it("adds up the workers that are there", () => {
  const now = nowOf({
    workers: [
      workerOf(),
      workerOf({ name: "host:2", point: pointOf({ num_waiting: null, decode_per_s: null }) }),
      workerOf({ name: "host:3", state: "lost", point: null }),
    ],
    site: { num_followed: 2, num_prepare: 1, num_generate: 4, num_settle: 0 },
  });
  const figures = fleetFigures(now, new Map(), starts);
  expect(texts(figures)).toMatchObject({ "Streams now": "6", Waiting: "1", "Tokens a second": "120" });
  expect(figures[1]!.note).toBe("and 4 in the queue");
  expect(workersText(now.workers)).toBe("2 ready, 1 lost");
  expect(queueTexts(now)).toEqual(["1 request to prepare", "4 requests for a worker", "0 requests to save"]);
  expect(workersText([])).toBe("none");
});

it("writes rates and shares as they are read at a glance", () => {
  expect([0, 3.14, 9.96, 10.4, 1234].map(rate)).toEqual(["0", "3.1", "10.0", "10", "1,234"]);
  expect([0, 0.004, 0.0577, 0.112, 1].map(portion)).toEqual([
    "0\u00a0%",
    "0.4\u00a0%",
    "5.8\u00a0%",
    "11\u00a0%",
    "100\u00a0%",
  ]);
});

it("writes spans in two units at most", () =>
  expect([-5, 59_999, 60_000, 3_599_000, 7_200_000, 7_380_000, 200_000_000].map(span)).toEqual([
    "0\u00a0s",
    "59\u00a0s",
    "1\u00a0min",
    "59\u00a0min",
    "2\u00a0h",
    "2\u00a0h 3\u00a0min",
    "2\u00a0d 7\u00a0h",
  ]));

it("says what is wrong with a worker, and since when", () => {
  const of = (changed: Parameters<typeof workerOf>[0]) => troubleText(workerOf(changed), NOW_MS + 90_000);
  expect(of({})).toBe("");
  expect(of({ state: "lost" })).toMatch(/silent.* not known\. Its last word came at .*, 1\u00a0min ago\./);
  expect(of({ state: "stopped" })).toContain("told to stop");
  expect(of({ state: "loading", progress: 0.4, last_ms: null })).toBe("It loads the model: 40\u00a0%.");
  expect(of({ state: "failed", message: "No such file.", last_ms: null })).toBe("It failed: No such file.");
  expect(aboutText(workerOf(), NOW_MS)).toBe("small on cpu · Q8_0 · int8 · running for 2\u00a0h 5\u00a0min");
  const ended = workerOf({ state: "stopped", last_ms: NOW_MS - 3_600_000 });
  expect(aboutText(ended, NOW_MS)).toBe("small on cpu · Q8_0 · int8 · ran for 1\u00a0h 5\u00a0min");
});

it("tells of each request what it waits for, and its tokens", () => {
  const request = {
    id: "req_1",
    user: "alice",
    surface: "chat",
    state: "prefill" as const,
    num_prompt_tokens: 1200,
    num_computed_tokens: 512,
    num_output_tokens: 0,
    age_ms: 100,
  };
  expect([stateText(request), tokensText(request)]).toEqual(["prompt is read", "512 of 1,200"]);
  expect(tokensText({ ...request, state: "decode", num_output_tokens: 7 })).toBe("1,200 + 7");
  expect(stateText({ ...request, state: null })).toBe("at the remote server");
});
