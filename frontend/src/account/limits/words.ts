/** One's own limits and shared limits in words. Pure. */
import type { LimitNow, SharedLimits } from "../../protocol/api";
import type { Limit } from "../../protocol/events";
import { amountText, LIMIT_NAMES, sharedText } from "../../trace/limits";

/** When a limit that is not full begins anew; empty where it fills within a minute. */
export function resetText({ limit, remaining, reset_unix_us: reset, refill_per_s: rate }: Limit): string {
  if (reset == null || rate || remaining >= limit) return "";
  const form: Intl.DateTimeFormatOptions = {
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  };
  return `; full again on ${new Intl.DateTimeFormat("en-US", form).format(new Date(reset / 1000))}`;
}

/** The warning of a budget that nears its end; nothing where there is none. */
export function warningText({ limit, is_warned }: LimitNow): string[] {
  if (!is_warned) return [];
  const owner = sharedText(limit);
  const name = `The ${LIMIT_NAMES[limit.name]}${owner && ` ${owner}`}`;
  if (limit.remaining <= 0)
    return [`${name} is used up: ${amountText(limit, limit.limit)}. Requests that cost money are refused.`];
  const share = Math.floor((100 * (limit.limit - limit.remaining)) / limit.limit);
  const left = `${amountText(limit, limit.remaining)} of ${amountText(limit, limit.limit)} is left`;
  return [`${name} is used up by ${share} %: ${left}.`];
}

/** The subject of a shared rule. */
export function subjectText(
  { model, user, group, is_of_owners }: SharedLimits,
  nameOf: (model: string) => string,
): string {
  if (group) return `Members of ${group} together${is_of_owners ? ", by its owners" : ""}`;
  if (model) return user ? `${user} at ${nameOf(model)}` : `All requests to ${nameOf(model)}`;
  return "All requests of the site";
}
