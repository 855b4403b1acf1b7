/** The figures of the live pages: of one worker, and of all together. Pure. */
import type { LiveNow, LiveWorker, Point } from "../../protocol/api";
import { count, counted, decimal } from "../../trace/format";
import {
  blocksCourse,
  blocksUsed,
  busyCourse,
  busyShare,
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
  /** The axis reaches at least so far. */
  least: number;
}

/** How values are written, and how far their axis reaches at least. */
type Form = Pick<LiveFigure, "form" | "axis" | "least">;

export const UNKNOWN = "–";
export const BUSY = "Busy, last 15 min";

/** Points by worker. */
export type Histories = ReadonlyMap<string, readonly Point[]>;

const short = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
const axis = (value: number) => short.format(value);

/** Tokens a second: whole from ten on. */
export function rate(value: number): string {
  return value >= 10 || value === 0 ? count(Math.round(value)) : decimal(value, 1);
}

/** A share as it is read at a glance: "5.8 %", "64 %". */
export function portion(value: number): string {
  return `${value >= 0.0995 || value === 0 ? Math.round(value * 100) : decimal(value * 100, 1)}\u00a0%`;
}

const ms = (value: number) => `${decimal(value, value < 10 ? 1 : 0)}\u00a0ms`;
const MIB = 1 << 20;
const memory = (mib: number) =>
  mib < 1024 ? `${Math.round(mib)}\u00a0MiB` : `${decimal(mib / 1024, 1)}\u00a0GiB`;

const COUNTS: Form = { form: (value) => count(Math.round(value * 10) / 10), axis, least: 2 };
const RATES: Form = { form: rate, axis, least: 10 };
const onAxis = (share: number) => `${Number((share * 100).toFixed(1))}\u00a0%`;
const SHARES: Form = { form: portion, axis: onAxis, least: 0.1 };
const TIMES: Form = { form: ms, axis: ms, least: 1 };
const MEMORY: Form = { form: memory, axis: memory, least: 128 };

const shown = (value: number | null, form: (value: number) => string) =>
  value === null ? UNKNOWN : form(value);

/** The figures of one worker. */
export function workerFigures(
  worker: LiveWorker,
  points: readonly Point[],
  starts: readonly number[],
): LiveFigure[] {
  const { point } = worker;
  const figure = (name: string, value: Value, form: Form, note = ""): LiveFigure => ({
    name,
    text: shown(point && value(point), form.form),
    note: point ? note : "",
    course: courseOf(points, starts, value),
    ...form,
  });
  return [
    figure("Streams", (each) => each.num_running, COUNTS, pausedText(point)),
    figure("Waiting", (each) => each.num_waiting, COUNTS),
    figure("Batch", (each) => each.batch, COUNTS, "in the last step, in sequences"),
    figure("Answer tokens a second", (each) => each.decode_per_s, RATES),
    figure("Prompt tokens a second", (each) => each.prefill_per_s, RATES, "computed, without cached ones"),
    figure("Step time", (each) => each.step_ms, TIMES, stepText(point, points)),
    figure("KV blocks in use", (each) => each.kv_used, SHARES, blocksText(worker)),
    { ...figure("Cache hit rate", () => null, SHARES, "of input tokens, 15 min"), ...hits(points, starts) },
    figure("Memory", (each) => inMib(each.rss_bytes), MEMORY, "of the process"),
    ...(worker.has_device_memory
      ? [figure("GPU memory", (each) => inMib(each.device_used_bytes), MEMORY, deviceText(worker))]
      : []),
  ];
}

const inMib = (bytes: number | null) => bytes && bytes / MIB;

function deviceText({ device_total_bytes }: LiveWorker): string {
  const total = inMib(device_total_bytes);
  return total ? `of ${memory(total)}, by all processes` : "The driver does not tell it.";
}

function hits(points: readonly Point[], starts: readonly number[]): Pick<LiveFigure, "text" | "course"> {
  return { text: shown(hitRate(points), portion), course: hitCourse(points, starts) };
}

function pausedText(point: Point | null): string {
  return point?.num_paused ? `${count(point.num_paused)} more in step mode wait for a person` : "";
}

function stepText(point: Point | null, points: readonly Point[]): string {
  const num = sumOf(points.map((each) => each.num_preemptions)) ?? 0;
  const now = point?.step_ms === null ? "no step in the last second" : "mean of the last second";
  return num ? `${now}, ${counted(num, "preemption")} in 15 min` : now;
}

function blocksText({ num_blocks, block_size, point }: LiveWorker): string {
  if (!num_blocks || point?.kv_cached === null || point?.kv_cached === undefined) return "";
  return `of ${count(num_blocks)} with ${block_size} tokens; ${portion(point.kv_cached)} more kept for reuse`;
}

/** The figures of all workers together. */
export function fleetFigures(now: LiveNow, histories: Histories, starts: readonly number[]): LiveFigure[] {
  const { workers } = now;
  const ready = workers.flatMap(({ point }) => (point ? [point] : []));
  const all = [...histories.values()];
  const added = (name: string, value: Value, form: Form, note = ""): LiveFigure => ({
    name,
    text: shown(sumOf(ready.map(value)), form.form),
    note,
    course: summed(
      all.map((points) => courseOf(points, starts, value)),
      starts,
    ),
    ...form,
  });
  const prefill = sumOf(ready.map((point) => point.prefill_per_s));
  return [
    added("Streams now", (point) => point.num_running, COUNTS),
    waiting(
      now,
      added("Waiting", (point) => point.num_waiting, COUNTS),
    ),
    added(
      "Tokens a second",
      (point) => point.decode_per_s,
      RATES,
      prefill ? `and ${rate(prefill)} of prompts` : "",
    ),
    {
      name: "KV blocks in use",
      text: shown(blocksUsed(workers), portion),
      note: "",
      course: blocksCourse(workers, histories, starts),
      ...SHARES,
    },
    {
      name: "Cache hit rate",
      text: shown(hitRate(all.flat()), portion),
      note: "15 min",
      course: hitCourse(all.flat(), starts),
      ...SHARES,
    },
  ];
}

/** The share of the last 15 minutes in which the workers computed: nothing older is kept. */
export function busyFigure(now: LiveNow, histories: Histories, starts: readonly number[]): LiveFigure {
  const all = [...histories.values()];
  return {
    name: BUSY,
    text: shown(busyShare(all.flat()), portion),
    note: knownText(all.flat(), now.at_ms),
    course: busyCourse(all, starts),
    ...SHARES,
  };
}

/** Said where less than the 15 minutes is known. */
function knownText(points: readonly Point[], nowMs: number): string {
  const known = points.filter(({ busy_ms }) => busy_ms !== null).map(({ at_ms }) => at_ms);
  const minutes = Math.round((nowMs - Math.min(...known)) / 60_000);
  if (!known.length || minutes >= 15) return "";
  return minutes <= 1 ? "only the last minute is known" : `only the last ${minutes} min are known`;
}

/** Requests that wait at a worker, and prepared ones that no worker has taken. */
function waiting({ site }: LiveNow, atWorkers: LiveFigure): LiveFigure {
  const num = site?.num_generate ?? 0;
  return { ...atWorkers, note: num ? `and ${count(num)} in the queue` : "" };
}

/** "3 ready, 1 lost". */
export function workersText(workers: readonly LiveWorker[]): string {
  const states = ["ready", "draining", "loading", "failed", "lost", "stopped"] as const;
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
