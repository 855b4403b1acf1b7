/** The figures of two or more requests, row by row: each beside the first. */
import type { SamplingParams, Usage } from "../../protocol/events";
import type { StageId } from "../stages";
import { count, duration, money } from "../format";
import { outcomeOf, type Outcome } from "../outcome";
import { intervalTable } from "../timing/intervals";
import { gravest, VERDICT_NAMES } from "../verdicts";
import { tokensPerSecond } from "../words/sentences";
import { differingSettings, SETTING_NAMES, settingText, type SettingName } from "../words/setting-names";
import { tokenGaps } from "../timing/token-gaps";
import { allTokens, firstTextUs, numReadInAll, tookUntil, usageOf, type TraceView } from "../view";

export interface Cell {
  text: string;
  /** Ratio to the first request's value; null where there is nothing to compare. */
  ratio: number | null;
}

export interface Row {
  label: string;
  group: "settings" | "time" | "tokens" | "end";
  /** Not all have the same. */
  differs: boolean;
  cells: Cell[];
  stage?: StageId;
}

const NOT_RECORDED = "not recorded";
const USUAL: SettingName[] = ["temperature", "top_p", "top_k", "seed", "max_tokens"];
const KINDS: [keyof Usage, string][] = [
  ["uncached_input", "Input, computed"],
  ["cache_read", "Input, from the cache"],
  ["cache_write_5m", "Cache write, 5 minutes"],
  ["cache_write_1h", "Cache write, 1 hour"],
  ["output", "Output"],
];
const ENDS: Record<Outcome, string> = {
  running: "still running",
  done: "end of turn",
  length: "length limit",
  repetition: "repeating itself",
  stopped: "stopped by the user",
  withheld: "withheld by the output check",
  blocked: "blocked",
  failed: "failed",
};

export function figureRows(views: TraceView[]): Row[] {
  return [...settingRows(views), ...timeRows(views), ...tokenRows(views), ...endRows(views)];
}

function settingRows(views: TraceView[]): Row[] {
  const params = views.flatMap(({ accepted }) => accepted?.params ?? []);
  const names = new Set<SettingName>([...USUAL, ...differingSettings(params)]);
  const setting =
    (name: SettingName) =>
    ({ accepted }: TraceView) =>
      accepted ? settingText(name, (accepted.params as SamplingParams)[name]) : NOT_RECORDED;
  return [
    words("Model", "settings", views, ({ accepted }) => accepted?.model ?? NOT_RECORDED),
    words("Computed", "settings", views, computeText),
    ...(Object.keys(SETTING_NAMES) as SettingName[])
      .filter((name) => names.has(name))
      .map((name) => words(SETTING_NAMES[name], "settings", views, setting(name))),
  ];
}

function computeText({ started }: TraceView): string {
  if (!started) return NOT_RECORDED;
  if (started.server) return started.server;
  return [started.quantization, started.compute, started.device].filter(Boolean).join(", ");
}

function timeRows(views: TraceView[]): Row[] {
  const time = (label: string, of: (view: TraceView) => number | null) =>
    numbers(label, "time", views, of, duration);
  return [
    time("Until the engine began", ({ started }) => started?.at ?? null),
    time("First token", firstTokenUs),
    time("First text", firstTextUs),
    numbers("Tokens a second", "time", views, tokensPerSecond, (value) => value.toFixed(0)),
    time("Time per output token", (view) => tokenGaps(view)?.mean ?? null),
    time("Between tokens, 95th percentile", (view) => tokenGaps(view)?.p95 ?? null),
    time("Between tokens, longest", (view) => tokenGaps(view)?.worst ?? null),
    time("In all", (view) => (outcomeOf(view) === "running" ? null : view.at)),
  ];
}

/** The intervals of all requests in the order in which they come; one that ran beside others is marked so. */
export function intervalRows(views: TraceView[]): Row[] {
  const tables = views.map((view) => intervalTable(view).intervals);
  const all = tables.flat().sort((a, b) => a.start - b.start);
  const stages = new Map(all.map(({ label, stage }) => [label, stage]));
  return [...stages].map(([label, stage]) => {
    const found = tables.map((intervals) => intervals.filter((each) => each.label === label));
    const lengths = found.map((parts) => parts.reduce((sum, { spent }) => sum + spent, 0));
    const cells = found.map((parts, index) => ({
      text: parts[0] ? duration(lengths[index]!) + (parts[0].isBeside ? ", beside others" : "") : "none",
      ratio: index && parts.length && lengths[0] ? lengths[index]! / lengths[0] : null,
    }));
    return { label, stage, group: "time", cells, differs: new Set(cells.map(({ text }) => text)).size > 1 };
  });
}

function firstTokenUs(view: TraceView): number | null {
  const first = allTokens(view)[0];
  return first ? tookUntil(view, first.at) : null;
}

function tokenRows(views: TraceView[]): Row[] {
  const kinds = KINDS.filter(([kind]) => {
    const isUsual = !kind.startsWith("cache_write");
    return isUsual || views.some((view) => usageOf(view)?.[kind]);
  });
  return [
    numbers("Input", "tokens", views, (view) => (view.prompt ? numReadInAll(view) : null), count),
    ...kinds.map(([kind, label]) =>
      numbers(label, "tokens", views, (view) => usageOf(view)?.[kind] ?? null, count),
    ),
    numbers(
      "Cost",
      "tokens",
      views,
      ({ bill }) => bill?.total_nano ?? null,
      (nano) => money(nano, views.find(({ bill }) => bill)!.bill!.currency),
    ),
  ];
}

function endRows(views: TraceView[]): Row[] {
  return [
    words("Ended by", "end", views, endText),
    words("Safety, message", "end", views, ({ inputCheck }) =>
      inputCheck ? VERDICT_NAMES[inputCheck.verdict] : NOT_RECORDED,
    ),
    words("Safety, answer", "end", views, outputVerdict),
  ];
}

export function endText(view: TraceView): string {
  const outcome = outcomeOf(view);
  return outcome === "failed" ? `failed: ${view.failed!.code.replaceAll("_", " ")}` : ENDS[outcome];
}

function outputVerdict({ outputChecks }: TraceView): string {
  return outputChecks.length
    ? VERDICT_NAMES[gravest(outputChecks.map(({ verdict }) => verdict))]
    : "no check";
}

function words(label: string, group: Row["group"], views: TraceView[], of: (view: TraceView) => string): Row {
  const cells = views.map((view) => ({ text: of(view), ratio: null }));
  return { label, group, cells, differs: new Set(cells.map(({ text }) => text)).size > 1 };
}

function numbers(
  label: string,
  group: Row["group"],
  views: TraceView[],
  of: (view: TraceView, index: number) => number | null,
  text: (value: number) => string,
): Row {
  const values = views.map(of);
  const first = values[0] ?? null;
  const cells = values.map((value, index) => ({
    text: value === null ? NOT_RECORDED : text(value),
    ratio: index === 0 || !value || !first ? null : value / first,
  }));
  return { label, group, cells, differs: new Set(values).size > 1 };
}

/** A ratio for people: "×1.8", "×0.25"; equal within half a percent is "=". */
export function ratioText(ratio: number): string {
  if (Math.abs(ratio - 1) < 0.005) return "=";
  if (ratio < 0.01) return "<\u00a0×0.01";
  return `×${ratio >= 10 ? ratio.toFixed(0) : ratio >= 1.095 ? ratio.toFixed(1) : ratio.toFixed(2)}`;
}
