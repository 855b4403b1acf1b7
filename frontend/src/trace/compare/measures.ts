/** Each run's measures, and the runs of a set by the settings that the grid gave them. */
import type { SamplingParams } from "../../protocol/events";
import { bits, count, duration, money } from "../format";
import { groupAnswers, type RunAnswer } from "./runs";
import { SETTING_NAMES, type SettingName } from "../words/setting-names";

export interface Measure {
  name: string;
  of: (run: RunAnswer) => number | null;
  text: (value: number, run: RunAnswer) => string;
}

export const MEASURES: Measure[] = [
  { name: "Length, tokens", of: ({ ids }) => ids.length, text: (value) => `${count(value)} tokens` },
  {
    name: "Mean surprise, bits",
    of: ({ meanLogprob }) => (meanLogprob === null ? null : -meanLogprob),
    text: (value) => bits(value, 3),
  },
  { name: "First token", of: ({ firstToken }) => firstToken, text: (value) => duration(value) },
  { name: "Cost", of: ({ cost }) => cost, text: (value, { currency }) => money(value, currency) },
];

/** A set's plan: the settings that its grid varies, and their values for each run. */
export interface Planned {
  grid: Partial<Record<keyof SamplingParams, number[]>>;
  runs: { index: number; settings: Partial<Record<keyof SamplingParams, number>> }[];
}

export interface Cell {
  label: string;
  runs: RunAnswer[];
  numDifferent: number;
  /** The answers' endings, with the number of each. */
  endings: { ending: string; num: number }[];
}

/** One cell for each combination of the grid; without a grid one for all. */
export function cellsOf({ runs, grid }: Planned, answers: RunAnswer[]): Cell[] {
  const names = Object.keys(grid) as SettingName[];
  const byIndex = new Map(answers.map((answer) => [answer.index, answer]));
  const cells = new Map<string, RunAnswer[]>();
  for (const { index, settings } of runs) {
    const label = names.map((name) => `${SETTING_NAMES[name].toLowerCase()} ${settings[name]}`).join(", ");
    const answer = byIndex.get(index);
    cells.set(label, [...(cells.get(label) ?? []), ...(answer ? [answer] : [])]);
  }
  return [...cells].map(([label, those]) => ({
    label: label || "all runs",
    runs: those,
    numDifferent: groupAnswers(those).length,
    endings: endingsOf(those),
  }));
}

function endingsOf(runs: RunAnswer[]): Cell["endings"] {
  const found = new Map<string, number>();
  for (const { ending } of runs) found.set(ending, (found.get(ending) ?? 0) + 1);
  return [...found].map(([ending, num]) => ({ ending, num })).sort((a, b) => b.num - a.num);
}

/** The range of a measure over all runs, never empty; null: no run has it. */
export function rangeOf(measure: Measure, answers: RunAnswer[]): { low: number; high: number } | null {
  const values = answers.flatMap((run) => measure.of(run) ?? []);
  if (!values.length) return null;
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const pad = high > low ? 0 : Math.abs(high) * 0.05 || 1;
  return { low: low - pad, high: high + pad };
}
