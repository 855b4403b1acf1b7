/** The library's filters as they stand in its address, and in words. Pure. */
import { duration } from "../trace/format";
import { VERDICT_NAMES } from "../trace/verdicts";

/** One condition: a name and a text, as in the address. */
export type Condition = [name: string, text: string];

export interface Range {
  name: string;
  label: string;
  /** Null: a currency. */
  unit: string | null;
  /** The API's whole numbers in one of these units. */
  scale: number;
}

export const STATUSES = Object.fromEntries(
  ["done", "stopped", "withheld", "blocked", "failed", "queued", "running"].map((name) => [name, name]),
);
export const ORIGINS: Record<string, string> = { true: "imported", false: "made here" };
export const FINISH_REASONS: Record<string, string> = {
  stop: "end of turn or stop text",
  length: "length limit",
  repetition: "repeating itself",
  content_filter: "safety check",
  abort: "stopped by the user",
  error: "error",
};
export const VERDICTS: Record<string, string> = {
  ...VERDICT_NAMES,
  none: "not recorded",
};
export const SURFACES: Record<string, string> = {
  chat: "the chat",
  replay: "a set of runs",
  openai: "the OpenAI API",
  anthropic: "the Anthropic API",
  summary: "a summary of a chat",
  agent: "a request, as an agent",
};
export const RANGES: Range[] = [
  { name: "first_token_us", label: "First token", unit: "ms", scale: 1e3 },
  { name: "first_text_us", label: "First text", unit: "ms", scale: 1e3 },
  { name: "duration_us", label: "Duration", unit: "s", scale: 1e6 },
  { name: "cost_nano", label: "Cost", unit: null, scale: 1e9 },
];

/** Costs are in the currencies of the user's own traces. */
export function unitOf({ unit }: Range, currencies: string[]): string {
  return unit ?? (currencies.join(" or ") || "in the bill’s currency");
}

/** A filter's words that can find something, and the one in force. */
export function offered(
  words: Readonly<Record<string, string>>,
  found: string[] | undefined,
  inForce: string,
): [string, string][] {
  const all = Object.entries(words);
  if (!found) return all;
  const others = found.filter((name) => !(name in words)).map((name): [string, string] => [name, name]);
  return [...all, ...others].filter(([name]) => found.includes(name) || name === inForce);
}

/** In words, for a chip that takes it away. */
export function inWords(
  [name, text]: Condition,
  currencies: string[] = [],
  names: Readonly<Record<string, string>> = {},
): string {
  if (name === "q") return `“${text}”`;
  if (name === "status") return `Status: ${text}`;
  if (name === "finish_reason") return `Ended by ${FINISH_REASONS[text] ?? text}`;
  if (name === "verdict") return `Safety: ${VERDICTS[text] ?? text}`;
  if (name === "surface") return `Asked by ${SURFACES[text] ?? text}`;
  if (name === "model") return `Model: ${Object.hasOwn(names, text) ? names[text] : text}`;
  if (name === "rerun") return "Runs of one set";
  if (name === "tag") return `Tag: ${text}`;
  if (name === "is_pinned") return text === "true" ? "Pinned" : "Not pinned";
  if (name === "is_imported") return text === "true" ? "Imported" : "Made here";
  if (name === "since") return `Since ${text}`;
  if (name === "until") return `Until ${text}`;
  const range = RANGES.find((range) => name.startsWith(range.name));
  if (range)
    return `${range.label} ${name.endsWith("_min") ? "≥" : "≤"} ${quantity(range, Number(text), currencies)}`;
  return `${name}: ${text}`;
}

function quantity(range: Range, value: number, currencies: string[]): string {
  return range.unit === null ? `${value / range.scale}\u00a0${unitOf(range, currencies)}` : duration(value);
}

/** True when a condition is on a figure in a currency, which only the user's own traces tell. */
export function namesMoney(query: string): boolean {
  const money = RANGES.filter(({ unit }) => unit === null);
  return conditionsOf(query).some(([name]) => money.some((range) => name.startsWith(range.name)));
}

export function conditionsOf(query: string): Condition[] {
  return [...new URLSearchParams(query)].filter(([, text]) => text);
}

/** All that is asked but the order. */
export function filtersOf(query: string): Condition[] {
  return conditionsOf(query).filter(([name]) => name !== "sort");
}

/** The same order, and no filter. */
export function unfiltered(query: string): string {
  return queryOf(conditionsOf(query).filter(([name]) => name === "sort"));
}

export function queryOf(conditions: Condition[]): string {
  return new URLSearchParams(conditions).toString();
}

/** The text of a condition of which there is one at most; empty: there is none. */
export function textOf(query: string, name: string): string {
  return new URLSearchParams(query).get(name) ?? "";
}

/** The query with this condition in place of those of the same name; an empty text takes them away. */
export function changed(query: string, name: string, text: string): string {
  const others = conditionsOf(query).filter(([other]) => other !== name);
  return queryOf(text ? [...others, [name, text]] : others);
}

export function without(query: string, [name, text]: Condition): string {
  return queryOf(conditionsOf(query).filter((other) => other[0] !== name || other[1] !== text));
}

export function withTag(query: string, tag: string): string {
  return queryOf([...conditionsOf(without(query, ["tag", tag])), ["tag", tag]]);
}

/** True when two queries ask the same, in any order. */
export function areEqual(one: string, other: string): boolean {
  const sorted = (query: string) => JSON.stringify(conditionsOf(query).map(String).sort());
  return sorted(one) === sorted(other);
}

/** A typed quantity in the API's whole numbers; empty where nothing, or no number, was typed. */
export function toApi({ scale }: Range, typed: string): string {
  const value = Number(typed);
  return typed.trim() && Number.isFinite(value) && value >= 0 ? String(Math.round(value * scale)) : "";
}

export function fromApi({ scale }: Range, text: string): string {
  return text ? String(Number(text) / scale) : "";
}
