/** Limits, flags and figures of users in words. Pure. */
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

export type AmountName = "max_open" | "requests_per_minute" | "tokens_per_day";
export type FlagName = "may_share" | "may_probe" | "may_rerun";

export const AMOUNTS: Record<AmountName, { name: string; most: number; help: string }> = {
  max_open: { name: "Requests at once", most: 32, help: "1 to 32. The product's own limit is 8." },
  requests_per_minute: { name: "Requests a minute", most: 10_000, help: "1 to 10,000." },
  tokens_per_day: {
    name: "Tokens a day",
    most: 1_000_000_000_000,
    help: "Of all kinds, by the day in UTC. A request that begins below the limit may end above it.",
  },
};
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

export function tokensText(use: UsageFigures): string {
  return count(numInput(use) + use.output);
}

/** The cost in each currency; what has no price is named beside it. */
export function costText({ cost, num_unpriced }: UsageFigures): string {
  const known = cost.map(({ nano, currency }) => money(nano, currency)).join(" + ");
  if (!num_unpriced) return known || "–";
  return known ? `${known} + ${count(num_unpriced)} unpriced` : "unpriced";
}

export function valueText(value: number | boolean | null): string {
  if (value === null) return "no limit";
  return typeof value === "boolean" ? (value ? "allowed" : "switched off") : count(value);
}

/** What a rule names, in one line; empty: nothing. */
export function ruleText(rule: LimitsBody): string {
  const amounts = (Object.keys(AMOUNTS) as AmountName[]).flatMap((name) => {
    const value = rule[name];
    return value === null ? [] : [`${count(value)} ${AMOUNTS[name].name.toLowerCase()}`];
  });
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

/** The moment in the browser's own zone: "Oct 24, 15:03". */
export function momentText(at: string | null): string {
  if (at === null) return "never";
  const form: Intl.DateTimeFormatOptions = {
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  };
  return new Intl.DateTimeFormat("en-US", form).format(new Date(at));
}

/** The limits in force, each with the rule that decided. */
export function inForce(limits: LimitsInForce): { name: string; value: string; from: string }[] {
  const named = {
    ...Object.fromEntries(Object.entries(AMOUNTS).map(([key, { name }]) => [key, name])),
    ...FLAGS,
  };
  return (Object.entries(named) as [AmountName | FlagName, string][]).map(([key, name]) => ({
    name,
    value: valueText(limits[key]),
    from: FROM[limits.sources[key] ?? ""] ?? "",
  }));
}

/** A limit as it was typed; a text says why it is none. Empty: the rule does not name it. */
export function amountOf(name: AmountName, written: string): number | null | string {
  const text = written.trim().replaceAll(",", "");
  if (!text) return null;
  const { most } = AMOUNTS[name];
  if (!/^\d{1,16}$/.test(text) || Number(text) < 1 || Number(text) > most)
    return `Enter a whole number from 1 to ${count(most)}, or nothing.`;
  return Number(text);
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
