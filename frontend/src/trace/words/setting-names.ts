/** The parameters of a request by the names that a person sees, and their values as text. */
import type { SamplingParams } from "../../protocol/events";

export type SettingName = keyof SamplingParams;

export const SETTING_NAMES: Record<SettingName, string> = {
  temperature: "Temperature",
  top_p: "Top-p",
  top_k: "Top-k",
  min_p: "Min-p",
  typical_p: "Typical-p",
  repetition_penalty: "Repetition penalty",
  frequency_penalty: "Frequency penalty",
  presence_penalty: "Presence penalty",
  dry_multiplier: "DRY",
  dry_base: "DRY base",
  dry_allowed_length: "DRY free tokens",
  dry_penalty_last_n: "DRY last tokens",
  dry_sequence_breakers: "DRY breakers",
  thinking_tokens: "Longest thinking",
  max_tokens: "Longest answer",
  seed: "Seed",
  stop: "Stop texts",
  stop_token_ids: "Stop tokens",
  banned_token_ids: "Banned tokens",
  logit_bias: "Logit bias",
  stop_on_repetition: "Stop on repetition",
  json_schema: "JSON Schema",
  regex: "Regular expression",
  tool_calls: "Tools",
};

const OFF: Partial<Record<SettingName, number>> = {
  top_k: 0,
  top_p: 1,
  min_p: 0,
  typical_p: 1,
  dry_multiplier: 0,
};

export function settingText(name: SettingName, value: unknown): string {
  if (value === null || value === undefined || (Array.isArray(value) && !value.length)) return "none";
  if (OFF[name] === value) return "off";
  if (name === "temperature" && value === 0) return "0 (greedy)";
  return typeof value === "object" || typeof value === "string" ? JSON.stringify(value) : String(value);
}

/** Names of the settings in which the requests differ, in the order of the names above. */
export function differingSettings(all: SamplingParams[]): SettingName[] {
  const [first, ...others] = all;
  if (!first) return [];
  return (Object.keys(SETTING_NAMES) as SettingName[]).filter((name) =>
    others.some((params) => JSON.stringify(params[name]) !== JSON.stringify(first[name])),
  );
}

const MOST_CHARS = 40;

/** A setting and its value within a sentence: the name small, a long schema or text cut short. */
export function settingWords(name: SettingName, value: unknown): string {
  return `${settingWord(name)} ${shortText(name, value)}`;
}

export function settingWord(name: SettingName): string {
  const title = SETTING_NAMES[name];
  return /^[A-Z]{2}/.test(title) ? title : title.toLowerCase();
}

export function shortText(name: SettingName, value: unknown): string {
  const text = settingText(name, value);
  return text.length > MOST_CHARS ? `${text.slice(0, MOST_CHARS - 1)}…` : text;
}
