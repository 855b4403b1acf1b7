/** The figures of the live pages: of one worker, and of all together. Pure. */
import type { LiveNow, LiveWorker, Point } from "../../protocol/api";
import { bytes, count, counted, decimal, percent } from "../../trace/format";
import {
  blocksCourse,
  blocksUsed,
  courseOf,
  hitCourse,
  hitRate,
  summed,
  sumOf,
  type Course,
  type Value,
} from "./course";

export interface LiveFigure {
  name: string;
  /** Its value now. */
  text: string;
  note: string;
  course: Course;
  /** A value in words. */
  form: (value: number) => string;
  /** A value on an axis. */
  axis: (value: number) => string;
}

export const UNKNOWN = "–";

/** Points by worker. */
export type Histories = ReadonlyMap<string, readonly Point[]>;

const short = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
const axis = (value: number) => short.format(value);
const share = (value: number) => `${Math.round(value * 100)}\u00a0%`;
const ms = (value: number) => `${decimal(value, value < 10 ? 1 : 0)}\u00a0ms`;
const one = (value: number) => count(Math.round(value * 10) / 10);

/** Tokens a second: whole from ten on. */
export function rate(value: number): string {
  return value >= 10 || value === 0 ? count(Math.round(value)) : decimal(value, 1);
}

const shown = (value: number | null, form: (value: number) => string) =>
  value === null ? UNKNOWN : form(value);

/** The figures of one worker. */
export function workerFigures(
  worker: LiveWorker,
  points: readonly Point[],
  starts: readonly number[],
): LiveFigure[] {
  const { point } = worker;
  const figure = (
    name: string,
    value: Value,
    form: (value: number) => string,
    note = "",
    onAxis = axis,
  ): LiveFigure => ({
    name,
    text: shown(point && value(point), form),
    note: point ? note : "",
    course: courseOf(points, starts, value),
    form,
    axis: onAxis,
  });
  return [
    figure("Streams", (each) => each.num_running, one, pausedText(point)),
    figure("Waiting", (each) => each.num_waiting, one),
    figure("Batch", (each) => each.batch, one, "sequences in the last step"),
    figure("Answer tokens a second", (each) => each.decode_per_s, rate),
    figure("Prompt tokens a second", (each) => each.prefill_per_s, rate, "computed, without cached ones"),
    figure("Step time", (each) => each.step_ms, ms, preemptionText(points), ms),
    figure("KV blocks in use", (each) => each.kv_used, percent, blocksText(worker), share),
    {
      ...figure("Cache hit rate", () => null, percent, "of input tokens, 15 min", share),
      ...hits(points, starts),
    },
    figure("Memory", (each) => each.rss_bytes, bytes, "of the process", bytes),
  ];
}

function hits(points: readonly Point[], starts: readonly number[]): Pick<LiveFigure, "text" | "course"> {
  return { text: shown(hitRate(points), percent), course: hitCourse(points, starts) };
}

function pausedText(point: Point | null): string {
  return point?.num_paused ? `${count(point.num_paused)} more in step mode wait for a person` : "";
}

function preemptionText(points: readonly Point[]): string {
  const num = sumOf(points.map((point) => point.num_preemptions)) ?? 0;
  return num ? `${counted(num, "preemption")} in 15 min` : "mean of the last second";
}

function blocksText({ num_blocks, block_size, point }: LiveWorker): string {
  if (!num_blocks || point?.kv_cached === null || point?.kv_cached === undefined) return "";
  return `of ${count(num_blocks)} with ${block_size} tokens; ${percent(point.kv_cached)} more kept for reuse`;
}

/** The figures of all workers together. */
export function fleetFigures(now: LiveNow, histories: Histories, starts: readonly number[]): LiveFigure[] {
  const { workers } = now;
  const ready = workers.flatMap(({ point }) => (point ? [point] : []));
  const all = [...histories.values()];
  const added = (name: string, value: Value, form: (value: number) => string, note = ""): LiveFigure => ({
    name,
    text: shown(sumOf(ready.map(value)), form),
    note,
    course: summed(
      all.map((points) => courseOf(points, starts, value)),
      starts,
    ),
    form,
    axis,
  });
  const prefill = sumOf(ready.map((point) => point.prefill_per_s));
  return [
    added("Streams now", (point) => point.num_running, one),
    waiting(
      now,
      added("Waiting", (point) => point.num_waiting, one),
    ),
    added(
      "Tokens a second",
      (point) => point.decode_per_s,
      rate,
      prefill ? `and ${rate(prefill)} of prompts` : "",
    ),
    {
      name: "KV blocks in use",
      text: shown(blocksUsed(workers), percent),
      note: "",
      course: blocksCourse(workers, histories, starts),
      form: percent,
      axis: share,
    },
    {
      name: "Cache hit rate",
      text: shown(hitRate(all.flat()), percent),
      note: "15 min",
      course: hitCourse(all.flat(), starts),
      form: percent,
      axis: share,
    },
  ];
}

/** Requests that wait at a worker, and prepared ones that no worker has taken. */
function waiting({ site }: LiveNow, atWorkers: LiveFigure): LiveFigure {
  const num = site?.num_generate ?? 0;
  return { ...atWorkers, note: num ? `and ${count(num)} in the queue` : "" };
}

/** "3 ready, 1 lost". */
export function workersText(workers: readonly LiveWorker[]): string {
  const states = ["ready", "loading", "failed", "lost", "stopped"] as const;
  const found = states.map((state) => ({
    state,
    num: workers.filter((each) => each.state === state).length,
  }));
  return (
    found
      .filter(({ num }) => num)
      .map(({ state, num }) => `${num} ${state}`)
      .join(", ") || "none"
  );
}

/** The site's own queues, in one sentence each. */
export function queueTexts({ site }: LiveNow): string[] {
  if (!site) return [];
  return [
    `${counted(site.num_prepare, "request")} to prepare`,
    `${counted(site.num_generate, "request")} for a worker`,
    `${counted(site.num_settle, "request")} to save`,
  ];
}
