/** The settings of an answer by the names that a person sees, and refusals in those names. */
import type { SamplingParams } from "../protocol/events";
import { ApiError } from "../transport/api";

export const FIELDS = [
  {
    key: "temperature",
    label: "Temperature",
    min: 0,
    max: 5,
    step: 0.05,
    help: "0 takes the most likely token every time; higher is more varied.",
  },
  {
    key: "top_p",
    label: "Top-p",
    min: 0.01,
    max: 1,
    step: 0.01,
    help: "Keep the likeliest tokens that together reach this probability.",
  },
  { key: "top_k", label: "Top-k", min: 0, max: 1000, step: 1, help: "Keep only so many tokens; 0 is off." },
  {
    key: "min_p",
    label: "Min-p",
    min: 0,
    max: 1,
    step: 0.01,
    help: "Drop tokens below this share of the likeliest one; 0 is off.",
  },
  {
    key: "typical_p",
    label: "Typical-p",
    min: 0.01,
    max: 1,
    step: 0.01,
    help: "Keep the tokens whose surprise is nearest to what is expected, up to this probability; 1 is off.",
  },
  {
    key: "repetition_penalty",
    label: "Repetition penalty",
    min: 0.1,
    max: 10,
    step: 0.05,
    help: "Above 1 makes tokens that occurred less likely.",
  },
  {
    key: "frequency_penalty",
    label: "Frequency penalty",
    min: -2,
    max: 2,
    step: 0.1,
    help: "Per earlier occurrence in the answer.",
  },
  {
    key: "presence_penalty",
    label: "Presence penalty",
    min: -2,
    max: 2,
    step: 0.1,
    help: "Once for any token that occurred in the answer.",
  },
  {
    key: "max_tokens",
    label: "Longest answer",
    min: 1,
    max: 8192,
    step: 1,
    help: "In tokens; the answer ends there, even in mid-sentence.",
  },
  {
    key: "seed",
    label: "Seed",
    min: 0,
    max: 9007199254740991,
    step: 1,
    help: "The same seed and settings give the same answer; empty: another one each time.",
  },
] as const;

const LABELS: Record<string, string> = {
  ...Object.fromEntries(FIELDS.map(({ key, label }) => [key, label])),
  n: "Answers",
  json_schema: "JSON Schema",
  regex: "Regular expression",
};

export type Form = "free" | "json_schema" | "regex";

/** What stands in the dialog before it holds. */
export interface SettingsDraft {
  entered: SamplingParams;
  n: number;
  prompt: string;
  form: Form;
  schema: string;
  regex: string;
  /** What keeps it from being valid, and the field; empty and null when nothing does. */
  problem: string;
  setting: string | null;
}

/** Why something was not done. */
export interface Refusal {
  message: string;
  /** The field of the settings that has to be changed, if it is that. */
  setting: string | null;
}

/** The server's sentence on a field begins with the field's name, for which the page has a label. */
export function refusalOf(error: unknown): Refusal {
  if (!(error instanceof ApiError)) return { message: String(error), setting: null };
  const { field, message } = error.problem;
  const name = field?.replace(/^params\./, "") ?? "";
  if (!Object.hasOwn(LABELS, name)) return { message, setting: null };
  const isNamed = message.startsWith(`${name} `);
  return { message: isNamed ? LABELS[name] + message.slice(name.length) : message, setting: name };
}

export function labelOf(setting: string): string {
  return LABELS[setting] ?? setting;
}
