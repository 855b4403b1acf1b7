/** Names that the user sees for the settings of an answer, and refusals in these names. */
import type { SamplingParams } from "../../protocol/events";
import type { Conversation, FieldProblem } from "../../protocol/api";
import { ApiError } from "../../transport/api";

export const FIELDS = [
  {
    key: "temperature",
    label: "Temperature",
    step: 0.05,
    help: "0 takes the most likely token every time; higher is more varied.",
  },
  {
    key: "top_p",
    label: "Top-p",
    step: 0.01,
    help: "Keep the likeliest tokens that together reach this probability.",
  },
  { key: "top_k", label: "Top-k", step: 1, help: "Keep only this many of the likeliest tokens; 0 is off." },
  {
    key: "min_p",
    label: "Min-p",
    step: 0.01,
    help: "Drop tokens below this share of the likeliest one; 0 is off.",
  },
  {
    key: "typical_p",
    label: "Typical-p",
    step: 0.01,
    help: "Keep the tokens whose surprise is nearest to the expected one, up to this probability; 1 is off.",
  },
  {
    key: "repetition_penalty",
    label: "Repetition penalty",
    step: 0.05,
    help: "Above 1, tokens that already occurred become less likely.",
  },
  {
    key: "frequency_penalty",
    label: "Frequency penalty",
    step: 0.1,
    help: "Lowers a token's chance for each time it occurred in the answer.",
  },
  {
    key: "presence_penalty",
    label: "Presence penalty",
    step: 0.1,
    help: "Lowers a token's chance once if it occurred in the answer.",
  },
  {
    key: "dry_multiplier",
    label: "No repeated phrases (DRY)",
    step: 0.1,
    help: "Makes a token that would repeat a phrase less likely; 0 is off, 0.8 is usual.",
  },
  {
    key: "dry_allowed_length",
    label: "Free phrases (DRY)",
    step: 1,
    help: "Phrases of up to this many tokens may repeat. Longer ones become less likely with each token.",
  },
  {
    key: "thinking_tokens",
    label: "Longest thinking (thinking_tokens)",
    step: 1,
    help: "The model's thinking ends after so many tokens, and the answer follows. 0: it does not think. Empty: no such limit.",
  },
  {
    key: "max_tokens",
    label: "Longest answer (max_tokens)",
    step: 1,
    help: "The length limit in tokens. The answer ends there, even in mid-sentence.",
  },
  {
    key: "seed",
    label: "Seed",
    step: 1,
    help: "The same seed, settings and prompt give the same answer while the cache holds the chat's earlier answers. Empty: a new seed each time.",
  },
] as const;

/** Those that may be empty. */
export const OPTIONAL: ReadonlySet<string> = new Set(["thinking_tokens", "seed"]);

const LABELS: Record<string, string> = {
  ...Object.fromEntries(FIELDS.map(({ key, label }) => [key, label.replace(/ \(.*/, "")])),
  n: "Answers",
  system_prompt: "System prompt",
  json_schema: "JSON Schema",
  regex: "Regular expression",
};

export type Form = "free" | "json_schema" | "regex";

/** The settings in the dialog, not saved yet. */
/** What becomes of old turns for which the window has no room. */
export type WindowPolicy = Conversation["window_policy"];

export const POLICIES: Record<WindowPolicy, { label: string; help: string }> = {
  drop: {
    label: "Drop the oldest turns",
    help: "The model no longer sees them. The chat still shows them.",
  },
  summarise: {
    label: "Summarise the oldest turns",
    help: "The model writes a summary once an answer leaves little room. It is a request with its own cost. A message that comes before it is ready drops the oldest turns.",
  },
  keep: {
    label: "Keep all turns",
    help: "A message that does not fit is refused.",
  },
};

export interface SettingsDraft {
  entered: SamplingParams;
  n: number;
  prompt: string;
  policy: WindowPolicy;
  form: Form;
  schema: string;
  regex: string;
  memory: boolean;
  speculation: boolean;
  /** The problems for which it cannot be saved. */
  problems: Refusal[];
}

/** The reason why an action failed. */
export interface Refusal {
  message: string;
  /** The setting to change; null: another setting would not help. */
  setting: string | null;
}

/** The server's problem with a field, with the page's label in place of the field's name. */
export function inWords({ field, message }: FieldProblem): Refusal {
  const name = field?.replace(/^params\./, "") ?? "";
  if (!Object.hasOwn(LABELS, name)) return { message, setting: null };
  const isNamed = message.startsWith(`${name} `);
  return { message: isNamed ? LABELS[name] + message.slice(name.length) : message, setting: name };
}

export function refusalOf(error: unknown): Refusal {
  return error instanceof ApiError ? inWords(error.problem) : { message: String(error), setting: null };
}

/** All problems that the server found. */
export function refusalsOf(error: unknown): Refusal[] {
  const problems = error instanceof ApiError ? error.problem.problems : undefined;
  return problems?.map(inWords) ?? [refusalOf(error)];
}

/** The problems of fields whose content cannot be sent, such as numbers that are none. The server judges all else. */
export function unfinished(form: HTMLFormElement): Refusal[] {
  return [...(form.elements as Iterable<Element>)].flatMap((field) => {
    if (!(field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement)) return [];
    const problem = lackOf(field);
    return problem
      ? [{ message: `${LABELS[field.name] ?? field.name} ${problem}`, setting: field.name }]
      : [];
  });
}

function lackOf(field: HTMLInputElement | HTMLTextAreaElement): string {
  const { badInput, valueMissing, stepMismatch, customError } = field.validity;
  if (customError) return field.validationMessage;
  if (badInput) return "must be a number.";
  if (valueMissing) return field.type === "number" ? "must be a number." : "must be given.";
  // The step of any other number serves the arrow keys alone.
  return stepMismatch && (field as HTMLInputElement).step === "1" ? "must be a whole number." : "";
}

/** The sentence to show at a field; empty: none. */
export function problemAt(setting: string, problems: Refusal[]): string {
  return problems.find((each) => each.setting === setting)?.message ?? "";
}
