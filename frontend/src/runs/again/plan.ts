/** From typed text to a plan: lists of values, and the number of runs that they make. */
import type { RerunHead, RerunPlan } from "../../protocol/api";
import { SETTING_NAMES, type SettingName } from "../../trace/words/setting-names";

export const MOST_RUNS = 64;

/** The settings that a grid can vary, with an example of values. */
export const AXES = [
  { name: "temperature", example: "0, 0.5, 1" },
  { name: "top_p", example: "0.5, 0.9, 1" },
  { name: "top_k", example: "0, 5, 40" },
  { name: "min_p", example: "0, 0.1" },
  { name: "repetition_penalty", example: "1, 1.2" },
  { name: "max_tokens", example: "32, 256" },
] as const satisfies { name: SettingName; example: string }[];

export type AxisName = (typeof AXES)[number]["name"];
export type Typed = Partial<Record<AxisName, string>>;

export interface Parsed {
  grid: Required<RerunPlan>["grid"];
  numCells: number;
  /** The first thing wrong, and in which field. */
  problem: string;
  field: AxisName | null;
}

export function parseGrid(typed: Typed): Parsed {
  const grid: Parsed["grid"] = {};
  let numCells = 1;
  for (const { name } of AXES) {
    const parts = (typed[name] ?? "").split(/[,;\s]+/).filter(Boolean);
    const values = parts.map(Number);
    const wrong = parts.find((_, index) => !Number.isFinite(values[index]));
    const label = SETTING_NAMES[name];
    if (wrong !== undefined) return refused(name, `${label}: “${wrong}” is not a number.`);
    if (new Set(values).size < values.length) return refused(name, `${label} has a value twice.`);
    if (!values.length) continue;
    grid[name] = values;
    numCells *= values.length;
  }
  return { grid, numCells, problem: "", field: null };
}

function refused(field: AxisName, problem: string): Parsed {
  return { grid: {}, numCells: 0, problem, field };
}

/** The model of a set within a sentence, where it is another one than the saved request's. */
export function otherModel(model: string, saved: string | null, nameOf: (model: string) => string): string {
  return saved === null || model === saved ? "" : `, by ${nameOf(model)}`;
}

/** A set's plan, in words. */
export function planText({ n, seeds, grid }: Pick<RerunHead, "n" | "seeds" | "grid">): string {
  const axes = Object.entries(grid) as [SettingName, number[]][];
  const times = n === 1 ? "once" : `${n} times`;
  const how = seeds === "same" ? "with its own seed" : n === 1 ? "with a fresh seed" : "with fresh seeds";
  if (!axes.length) return n === 1 && seeds === "same" ? "as it was" : `${times}, ${how}`;
  const over = axes
    .map(([name, values]) => `${SETTING_NAMES[name].toLowerCase()} ${values.join(", ")}`)
    .join(" × ");
  return `over ${over}, ${n === 1 ? "" : `${times} each, `}${how}`;
}
