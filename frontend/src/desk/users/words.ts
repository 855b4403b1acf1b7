/** Limits, flags and figures of users in words. Pure. */
import { momentText } from "../moment";
import type {
  LimitsBody,
  LimitsInForce,
  Person,
  SignInsPreview,
  StopPreview,
  UsageFigures,
} from "../../protocol/api";
import { count, counted, money } from "../../trace/format";
import { numInput } from "../figures/words";

export type AmountName = keyof typeof AMOUNTS;
export type FlagName = "may_share" | "may_probe" | "may_rerun";

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
export const FLAGS: Record<FlagName, string> = {
  may_share: "Share traces by links",
  may_probe: "Look into the model",
  may_rerun: "Run saved requests again",
};
export const FROM: Record<string, string> = {
  user: "set for this user",
  group: "from a group",
  site: "from the site",
  product: "default",
};

/** It is kept in billionths of a currency's unit, and written in units. */
const isMoney = (name: string): boolean => name.endsWith("_nano");

export function tokensText(use: UsageFigures): string {
  return count(numInput(use) + use.output);
}

/** The cost in each currency; what has no price is named beside it. */
export function costText({ cost, num_unpriced }: UsageFigures): string {
  const known = cost.map(({ nano, currency }) => money(nano, currency)).join(" + ");
  if (!num_unpriced) return known || "–";
  return known ? `${known} + ${count(num_unpriced)} unpriced` : "unpriced";
}

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

/** What a rule names, in one line; empty: nothing. */
export function ruleText(rule: LimitsBody): string {
  const amounts = amountTexts(rule);
  const flags = (Object.keys(FLAGS) as FlagName[]).flatMap((name) => {
    const value = rule[name];
    return value === null ? [] : [`${FLAGS[name].toLowerCase()}: ${value ? "yes" : "no"}`];
  });
  return [...amounts, ...flags].join(", ");
}

export function stateText({ is_active, is_stopped, stopped_groups, is_superuser }: Person): string {
  if (!is_active) return "closed";
  if (is_stopped) return "stopped";
  if (stopped_groups.length) return `stopped with ${stopped_groups.join(", ")}`;
  return is_superuser ? "superuser" : "";
}

/** The members whom the stop of a group concerns. */
export function concernedText({ num_users, users, num_requests, num_sets }: StopPreview): string {
  if (!num_users) return "The group has no members now. A user who joins it can send nothing.";
  const more = num_users - users.length;
  const names = users.join(", ") + (more ? ` and ${count(more)} more` : "");
  const ends = [
    num_requests ? counted(num_requests, "open request") : "",
    num_sets ? `${counted(num_sets, "set")} of runs` : "",
  ].filter(Boolean);
  const ending = ends.length ? `Ends at once: ${ends.join(" and ")}.` : "None of their requests is open.";
  return `It stops ${counted(num_users, "user")}: ${names}. ${ending}`;
}

/** The limits in force, each with the rule that decided. */
export function inForce(limits: LimitsInForce): { name: string; value: string; from: string }[] {
  const named = {
    ...Object.fromEntries(Object.entries(AMOUNTS).map(([key, { name }]) => [key, name])),
    ...FLAGS,
  };
  return (Object.entries(named) as [AmountName | FlagName, string][]).map(([key, name]) => ({
    name,
    value: valueText(limits[key], key),
    from: FROM[limits.sources[key] ?? ""] ?? "",
  }));
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

export function stoppedText(name: string, numRequests: number, numSets: number): string {
  const sets = numSets ? ` and ${counted(numSets, "set")} of runs` : "";
  return `${name} is stopped. ${counted(numRequests, "running request")}${sets} ${numRequests === 1 && !numSets ? "was" : "were"} stopped.`;
}

/** The sign-ins of a user that would end. */
export function signedInText(name: string, { num, last_seen }: SignInsPreview): string {
  if (num === 0) return `${name} is signed in nowhere.`;
  return `${name} has ${counted(num, "sign-in")}, last used ${momentText(last_seen)}.`;
}
