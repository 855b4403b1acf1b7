/** Limits, flags and figures of users in words. Pure. */
import { momentText } from "../../charts/moment";
import type {
  LimitsBody,
  LimitsInForce,
  Person,
  SignInsPreview,
  StopPreview,
  UsageFigures,
} from "../../protocol/api";
import { count, counted, money } from "../../trace/format";
import { numInput } from "../../charts/figures/words";
import { AMOUNTS, amountTexts, valueText, type AmountName } from "../../account/limits/amounts";

export type FlagName = "may_share" | "may_probe" | "may_rerun";

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

/** What a rule names, in one line; empty: nothing. */
export function ruleText(rule: LimitsBody): string {
  const amounts = amountTexts(rule);
  const flags = (Object.keys(FLAGS) as FlagName[]).flatMap((name) => {
    const value = rule[name];
    return value === null ? [] : [`${FLAGS[name].toLowerCase()}: ${value ? "yes" : "no"}`];
  });
  return [...amounts, ...flags].join(", ");
}

export function stateText({
  is_active,
  is_stopped,
  stopped_groups,
  views_only,
  is_superuser,
}: Person): string {
  if (!is_active) return "closed";
  if (is_stopped) return "stopped";
  if (stopped_groups.length) return `stopped with ${stopped_groups.join(", ")}`;
  if (views_only) return "views only";
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

export function stoppedText(name: string, numRequests: number, numSets: number): string {
  const sets = numSets ? ` and ${counted(numSets, "set")} of runs` : "";
  return `${name} is stopped. ${counted(numRequests, "running request")}${sets} ${numRequests === 1 && !numSets ? "was" : "were"} stopped.`;
}

/** The sign-ins of a user that would end. */
export function signedInText(name: string, { num, last_seen }: SignInsPreview): string {
  if (num === 0) return `${name} is signed in nowhere.`;
  return `${name} has ${counted(num, "sign-in")}, last used ${momentText(last_seen)}.`;
}
