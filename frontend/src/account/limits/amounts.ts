/** The amounts of limits: their names, and how they are read and written. Pure. */
import type { KeyLimits } from "../../protocol/api";
import { count } from "../../trace/format";

export type AmountName = keyof typeof AMOUNTS;

interface Amount {
  name: string;
  most: number;
  help: string;
}

const BUDGET_MOST = 1e15;
export const AMOUNTS = {
  max_open: { name: "Requests at once", most: 32, help: "1 to 32. The product's own limit is 8." },
  requests_per_minute: { name: "Requests a minute", most: 10_000, help: "1 to 10,000." },
  input_tokens_per_minute: {
    name: "Input tokens a minute",
    most: 50_000_000,
    help: "Of prompts, without what the prefix cache holds.",
  },
  output_tokens_per_minute: {
    name: "Output tokens a minute",
    most: 50_000_000,
    help: "A request reserves its max_tokens, and gives back what it does not write.",
  },
  tokens_per_day: {
    name: "Tokens a day",
    most: 1_000_000_000_000,
    help: "Of all kinds, by the day in UTC. A request that begins below the limit may end above it.",
  },
  daily_budget_nano: {
    name: "Budget of a day",
    most: BUDGET_MOST,
    help: "In units of each model's currency, by the day in UTC.",
  },
  monthly_budget_nano: {
    name: "Budget of a month",
    most: BUDGET_MOST,
    help: "In units of each model's currency, by the month in UTC.",
  },
} satisfies Record<string, Amount>;

/** It is kept in billionths of a currency's unit, and written in units. */
const isMoney = (name: string): boolean => name.endsWith("_nano");

export function valueText(value: number | boolean | null, name?: string): string {
  if (value === null) return "no limit";
  if (typeof value === "boolean") return value ? "allowed" : "switched off";
  return name && isMoney(name) ? unitsText(value) : count(value);
}

/** Billionths of a currency's unit as units: "2.50". */
export function unitsText(nano: number): string {
  return (nano / 1e9).toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 9 });
}

/** The amounts that a rule names. */
export function amountTexts(rule: Partial<Record<AmountName, number | null>>): string[] {
  return (Object.keys(AMOUNTS) as AmountName[]).flatMap((name) => {
    const value = rule[name];
    return value == null ? [] : [`${valueText(value, name)} ${AMOUNTS[name].name.toLowerCase()}`];
  });
}

/** A limit as it was typed; a text says why it is none. Empty: the rule does not name it. */
export function amountOf(name: AmountName, written: string): number | null | string {
  const text = written.trim().replaceAll(",", "");
  if (!text) return null;
  const { most } = AMOUNTS[name];
  if (isMoney(name)) return nanoOf(text, most);
  if (!/^\d{1,16}$/.test(text) || Number(text) < 1 || Number(text) > most)
    return `Enter a whole number from 1 to ${count(most)}, or nothing.`;
  return Number(text);
}

/** A budget as it was typed, in units of the currency. */
function nanoOf(text: string, most: number): number | string {
  const nano = /^\d{1,9}(\.\d{1,9})?$/.test(text) ? Math.round(Number(text) * 1e9) : 0;
  return nano >= 1 && nano <= most
    ? nano
    : `Enter an amount up to ${unitsText(most)}, such as 2.50, or nothing.`;
}

/** A rule's amount as it is typed; empty: the rule does not name it. */
export function writtenOf(name: AmountName, value: number | null | undefined): string {
  if (value == null) return "";
  return isMoney(name) ? unitsText(value).replaceAll(",", "") : `${value}`;
}

/** By field the reason why what was typed is no limit. */
export type Problems = Partial<Record<AmountName, string>>;

const NAMES = Object.keys(AMOUNTS) as AmountName[];

/** A key's limits as they are typed. */
export function writtenLimits(limits: Partial<KeyLimits>): Record<AmountName, string> {
  return Object.fromEntries(NAMES.map((name) => [name, writtenOf(name, limits[name])])) as Record<
    AmountName,
    string
  >;
}

/** A key's limits as they were typed; null where one is none. */
export function limitsOf(written: Record<AmountName, string>): {
  limits: KeyLimits | null;
  problems: Problems;
} {
  const found = NAMES.map((name) => [name, amountOf(name, written[name])] as const);
  const problems: Problems = Object.fromEntries(found.filter(([, value]) => typeof value === "string"));
  const isWhole = Object.keys(problems).length === 0;
  return { limits: isWhole ? (Object.fromEntries(found) as unknown as KeyLimits) : null, problems };
}
