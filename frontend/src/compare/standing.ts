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
  const names = traces.map((trace) => (trace ? shortName(trace, titles.size > 1) : ""));
  return names.map((name, index) => {
    const isAlone = names.filter((other) => other === name).length === 1;
    return isAlone || !traces[index] ? name : [name, timeOf(traces[index])].filter(Boolean).join(", ");
  });
}

function shortName(trace: Placed, hasOthersTitle: boolean): string {
  if (hasOthersTitle) {
    const title = trace.title || trace.id;
    return title.length > MOST_CHARS ? `${title.slice(0, MOST_CHARS - 1).trimEnd()}…` : title;
  }
  if (trace.run) return `Run ${trace.run.index + 1}`;
  if (trace.answer && trace.answer.num > 1)
    return `Answer ${trace.answer.index + 1}${trace.fork_position === null ? "" : ", a fork"}`;
  return trace.surface === "replay" ? "Run again" : "";
}

function timeOf({ created_at }: Placed): string {
  return new Date(created_at).toLocaleTimeString(undefined, { timeStyle: "medium" });
}
