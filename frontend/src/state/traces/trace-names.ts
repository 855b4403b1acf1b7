/** Names of a trace for the screen: its answer or run, its fork, its time. */
import type { RequestAccepted } from "../../protocol/events";
import { differingSettings, settingWords, type SettingName } from "../../trace/words/setting-names";
import type { PlacedRequest } from "../../protocol/api";

type Placed = Pick<
  PlacedRequest,
  "id" | "title" | "created_at" | "answer" | "run" | "fork_position" | "surface"
> &
  Partial<Pick<PlacedRequest, "batch_id">>;

/** One of the traces beside each other: its letter, and a few words. */
export interface Column {
  name: string;
  label: string;
}

/** Words that tell a trace from others with the same question; empty: there are no others. */
export function distinguishingWords(trace: Placed): string[] {
  const { answer, run, fork_position: fork } = trace;
  const parts = [];
  if (run) parts.push(`Run ${run.index + 1} of ${run.num}`, ...settingsOf(run.settings));
  else if (trace.surface === "replay") parts.push("Run again");
  if (answer && answer.num > 1) parts.push(`Answer ${answer.index + 1} of ${answer.num}`);
  if (fork !== null) parts.push(`forked at token ${fork + 1}`);
  if (trace.batch_id) parts.push("in a batch");
  return parts;
}

function settingsOf(settings: object): string[] {
  return Object.entries(settings).map(([name, value]) => settingWords(name as SettingName, value));
}

/** For each request, the model and the settings in which the requests differ, but for the seed. null: not known. */
export function ownSettings(
  all: (Pick<RequestAccepted, "model" | "params"> | null)[],
  modelName: (model: string) => string,
): string[][] {
  const known = all.flatMap((each) => each ?? []);
  const names = differingSettings(known.map(({ params }) => params)).filter((name) => name !== "seed");
  const isMixed = new Set(known.map(({ model }) => model)).size > 1;
  return all.map((each) =>
    each
      ? [
          ...(isMixed ? [modelName(each.model)] : []),
          ...names.map((name) => settingWords(name, each.params[name])),
        ]
      : [],
  );
}

const MOST_CHARS = 40;

/** Short names of several traces, told apart as far as possible. null: a trace not read yet. */
export function shortNames(traces: (Placed | null)[], settings: string[][] = []): string[] {
  const titles = new Set(traces.flatMap((trace) => trace?.title ?? []));
  const titled = titles.size > 1;
  const names = traces.map((trace) => (trace ? (titled ? shortTitle(trace) : shortPlace(trace)) : ""));
  const withPlace = titled ? toldApart(names, (index) => traces[index] && shortPlace(traces[index])) : names;
  const withSetting = toldApart(withPlace, (index) => settings[index]?.[0]);
  return toldApart(withSetting, (index) => traces[index] && timeOf(traces[index]));
}

/** The names, with a further fact added to equal ones. */
function toldApart(names: string[], more: (index: number) => string | null | undefined): string[] {
  return names.map((name, index) => {
    const isAlone = names.filter((other) => other === name).length === 1;
    return isAlone ? name : [name, more(index)].filter(Boolean).join(", ");
  });
}

function shortTitle({ title, id }: Placed): string {
  const name = title || id;
  return name.length > MOST_CHARS ? `${name.slice(0, MOST_CHARS - 1).trimEnd()}…` : name;
}

/** Its run or answer number; empty for a single answer. */
function shortPlace(trace: Placed): string {
  if (trace.run) return `Run ${trace.run.index + 1}`;
  if (trace.answer && trace.answer.num > 1)
    return `Answer ${trace.answer.index + 1}${trace.fork_position === null ? "" : ", a fork"}`;
  return trace.surface === "replay" ? "Run again" : "";
}

function timeOf({ created_at }: Placed): string {
  return new Date(created_at).toLocaleTimeString(undefined, { timeStyle: "medium" });
}
