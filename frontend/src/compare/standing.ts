/** What a person knows a trace by, in words: which answer or run it is, its fork, its seed, its time. */
import { SETTING_NAMES, settingText, type SettingName } from "../trace/setting-names";
import type { RequestSummary } from "../transport/api";

type Placed = Pick<
  RequestSummary,
  "id" | "title" | "created_at" | "answer" | "run" | "seed" | "fork_position" | "surface"
>;

/** One of those that stand beside each other: its letter, and a few words. */
export interface Column {
  name: string;
  label: string;
}

/** Tells a trace from those with the same question; empty for one that stands alone. */
export function standing(trace: Placed): string[] {
  const { answer, run, seed, fork_position: fork } = trace;
  const parts = [];
  if (run) parts.push(`Run ${run.index + 1} of ${run.num}`, ...settingsOf(run.settings));
  else if (trace.surface === "replay") parts.push("Run again");
  if (answer && answer.num > 1) parts.push(`Answer ${answer.index + 1} of ${answer.num}`);
  if (fork !== null) parts.push(`forked at token ${fork}`);
  if (parts.length && seed != null) parts.push(`seed ${seed}`);
  return parts;
}

function settingsOf(settings: object): string[] {
  return Object.entries(settings).map(
    ([name, value]) =>
      `${SETTING_NAMES[name as SettingName].toLowerCase()} ${settingText(name as SettingName, value)}`,
  );
}

const MOST_CHARS = 40;

/** A few words for each of several, as different as they are known to be; null is one not read yet. */
export function shortNames(traces: (Placed | null)[]): string[] {
  const titles = new Set(traces.flatMap((trace) => trace?.title ?? []));
  if (titles.size < 2) return toldApart(namesOf(traces, shortPlace), traces, timeOf);
  return toldApart(toldApart(namesOf(traces, shortTitle), traces, shortPlace), traces, timeOf);
}

const namesOf = (traces: (Placed | null)[], name: (trace: Placed) => string) =>
  traces.map((trace) => (trace ? name(trace) : ""));

/** To equal names something more is added. */
function toldApart(names: string[], traces: (Placed | null)[], more: (trace: Placed) => string): string[] {
  return names.map((name, index) => {
    const isAlone = names.filter((other) => other === name).length === 1;
    const trace = traces[index];
    return isAlone || !trace ? name : [name, more(trace)].filter(Boolean).join(", ");
  });
}

function shortTitle({ title, id }: Placed): string {
  const name = title || id;
  return name.length > MOST_CHARS ? `${name.slice(0, MOST_CHARS - 1).trimEnd()}…` : name;
}

/** Empty for one that stands alone. */
function shortPlace(trace: Placed): string {
  if (trace.run) return `Run ${trace.run.index + 1}`;
  if (trace.answer && trace.answer.num > 1)
    return `Answer ${trace.answer.index + 1}${trace.fork_position === null ? "" : ", a fork"}`;
  return trace.surface === "replay" ? "Run again" : "";
}

function timeOf({ created_at }: Placed): string {
  return new Date(created_at).toLocaleTimeString(undefined, { timeStyle: "medium" });
}
