/** The texts of a row of the library. Pure. */
import { distinguishingWords } from "../state/traces/trace-names";
import { counted } from "../trace/format";
import type { ListedRequest } from "../protocol/api";

/** All traces that the row stands for. */
export function idsOf({ id, set }: ListedRequest): string[] {
  return set ? set.ids : [id];
}

/** Tells the row from all others when it is read aloud. */
export function nameOf(trace: ListedRequest): string {
  const title = trace.title || trace.id;
  if (trace.set) return `${title}, ${counted(trace.set.ids.length, "run")}`;
  return [title, ...distinguishingWords(trace)].join(", ");
}

/** The number of runs that a set's row stands for: those with a trace that meet the filter. */
export function runsText({ set, run }: ListedRequest): string {
  const num = set!.ids.length;
  return run && num < run.num
    ? `${num} of ${counted(run.num, "run")} of one set`
    : `${counted(num, "run")} of one set`;
}

/** Without traces under deletion; null: nothing is left of the row. The others' sums are not known yet. */
export function withoutGone(
  trace: ListedRequest,
  gone: { has: (id: string) => boolean },
): ListedRequest | null {
  const all = idsOf(trace);
  const ids = all.filter((id) => !gone.has(id));
  if (!ids.length) return null;
  if (ids.length === all.length) return trace;
  return { ...trace, set: { ...trace.set!, ids, status: {}, cost_nano: null } };
}

/** The status, split where one word of the server covers several ends. */
export function endingOf({ status, finish_reason, first_text_us }: ListedRequest): string {
  if (status === "withheld") return first_text_us === null ? "withheld" : "partly withheld";
  return finish_reason === "repetition" ? "repeated itself" : status;
}

/** The number of runs by status: from the runs where they are known, else from the listed set. */
export function statusOfSet({ set }: ListedRequest, runs: ListedRequest[] | undefined): string {
  const num = new Map<string, number>(runs ? [] : Object.entries(set!.status));
  for (const { id, status } of runs ?? [])
    if (set!.ids.includes(id)) num.set(status, (num.get(status) ?? 0) + 1);
  return [...num].map(([status, number]) => `${number}\u00a0${status}`).join(", ");
}

/** The joint cost of the billed runs; null: none was billed, or it is not known. */
export function costOfSet({ set }: ListedRequest, runs: ListedRequest[] | undefined): number | null {
  const billed = (runs ?? []).flatMap(({ id, cost_nano }) =>
    set!.ids.includes(id) ? (cost_nano ?? []) : [],
  );
  return billed.length ? billed.reduce((sum, cost) => sum + cost, 0) : set!.cost_nano;
}

// Making a formatter takes a hundred times as long as using it, and the table has many rows.
const DAY: Intl.DateTimeFormatOptions = { month: "short", day: "numeric" };
const dayForm = new Intl.DateTimeFormat(undefined, DAY);
const yearForm = new Intl.DateTimeFormat(undefined, { ...DAY, year: "numeric" });
const minuteForm = new Intl.DateTimeFormat(undefined, { ...DAY, hour: "2-digit", minute: "2-digit" });
const momentForm = new Intl.DateTimeFormat(undefined, { dateStyle: "long", timeStyle: "medium" });

/** A time to the minute; in another year the day. */
export function when(time: string, now = new Date()): string {
  const date = new Date(time);
  const isThisYear = date.getFullYear() === now.getFullYear();
  return isThisYear ? minuteForm.format(date) : day(time, now);
}

/** The year only where it is another. */
export function day(time: string, now = new Date()): string {
  const date = new Date(time);
  const isThisYear = date.getFullYear() === now.getFullYear();
  return (isThisYear ? dayForm : yearForm).format(date);
}

/** A time of any year, to the second. */
export function moment(time: string): string {
  return momentForm.format(new Date(time));
}
