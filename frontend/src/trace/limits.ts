/** The level of a limit's bucket at any moment after the gateway's check. Knows this request alone: its log does not hold
 * what other requests take or give back meanwhile. */
import type { PastRefusal } from "../protocol/api";
import type { Limit } from "../protocol/events";
import { count, counted, money } from "./format";
import { usageOf, type TraceView } from "./view";

export const LIMIT_NAMES: Record<Limit["name"], string> = {
  requests: "requests in a minute",
  input_tokens: "tokens read in a minute",
  output_tokens: "tokens written in a minute",
  daily_tokens: "tokens in a day",
  concurrency: "requests open at once",
  daily_budget: "budget of the day",
  monthly_budget: "budget of the month",
  message_bytes: "length of a message",
};

export interface Level {
  /** The amount that could still be taken. */
  left: number;
  /** The amount that this request holds and gives back when it ends: a place among the open requests, or money. */
  held: number;
}

/** `since`: µs from the gateway's check until the moment. `used`: what an ended request used; null: it is open, or
 * unknown. Null: the log lacks the facts. */
export function levelAt(
  limit: Limit,
  since: number,
  isEnded: boolean,
  used: number | null = null,
): Level | null {
  const { limit: most, remaining, num_taken: taken, refill_per_s: rate } = limit;
  // Traces from before these were recorded have no such fields.
  if (taken == null || rate == null) return null;
  const kept = isEnded ? (limit.name === "concurrency" ? 0 : (used ?? taken)) : taken;
  const refilled = (rate * Math.max(0, since)) / 1e6;
  const left = Math.max(0, Math.min(most, remaining - kept + refilled));
  return { left, held: !isEnded && isHeld(limit) ? taken : 0 };
}

/** Time alone gives nothing of it back. */
function isHeld({ name }: Limit): boolean {
  return name === "concurrency" || name === "daily_budget" || name === "monthly_budget";
}

/** µs until it is full again by itself; 0: it is; null: time does not fill it, or the rate is not recorded. */
export function fullAfter({ limit: most, refill_per_s: rate }: Limit, { left }: Level): number | null {
  if (left >= most) return 0;
  return rate ? ((most - left) / rate) * 1e6 : null;
}

/** What an ended request used of a limit; null: it is open, or its log does not tell. */
export function usedOf(limit: Limit, view: TraceView): number | null {
  if (limit.name === "daily_budget" || limit.name === "monthly_budget") return view.bill?.total_nano ?? 0;
  const usage = usageOf(view);
  if (limit.name === "output_tokens") return usage?.output ?? 0;
  if (limit.name === "input_tokens")
    return usage ? usage.uncached_input + usage.cache_write_5m + usage.cache_write_1h : 0;
  return null;
}

/** How many more requests like this one the limit lets through at a level; null: each takes nothing. */
export function numMore({ num_taken: taken }: Limit, { left }: Level): number | null {
  return taken ? Math.floor(left / taken) : null;
}

/** The place of the limit that lets the fewest more such requests through; null: none is known to bind. */
export function bindingFirst(limits: { limit: Limit; level: Level | null }[]): number | null {
  const room = limits.map(({ limit, level }) => (level && numMore(limit, level)) ?? Infinity);
  const least = Math.min(...room);
  return Number.isFinite(least) ? room.indexOf(least) : null;
}

/** An amount of a limit: money for a budget. */
export function amountText({ currency }: Limit, amount: number): string {
  return currency ? money(amount, currency) : count(amount);
}

/** Whose requests take from it together; empty: the user's own alone. */
export function sharedText({ subject }: Limit): string {
  const words: Partial<Record<Limit["subject"], string>> = {
    key: "of the key",
    group: "of the group together",
    model: "of this model",
    site: "of all users together",
  };
  return words[subject] ?? "";
}

/** The limits in the order in which they bind: the one with the smallest share left is first. */
export function byShareLeft<T extends { limit: Limit }>(limits: readonly T[]): T[] {
  const share = ({ limit: { limit, remaining } }: T) => (limit ? remaining / limit : 0);
  return limits.toSorted((a, b) => share(a) - share(b));
}

const OTHER_CAUSES: Record<string, string> = {
  sending_stopped: "an operator had stopped the sending",
  views_only: "the user was a viewer in each group",
  switched_off: "an operator had switched this off",
  overloaded: "the server had no free place",
  rate_limited: "too many answers had failed by their form",
  too_many_open: "too many requests were open in step mode",
};

/** Which limit refused, and how it stood: "requests in a minute, of the key: 0 of 5 left, 1 asked for". */
export function refusalText({ limit, num_asked: asked, code }: PastRefusal): string {
  if (!limit) return OTHER_CAUSES[code] ?? code.replaceAll("_", " ");
  const owner = sharedText(limit);
  const left = `${amountText(limit, limit.remaining)} of ${amountText(limit, limit.limit)} left`;
  const wanted =
    asked == null ? "" : `, ${limit.currency ? "up to " : ""}${amountText(limit, asked)} asked for`;
  return `${LIMIT_NAMES[limit.name]}${owner && `, ${owner}`}: ${left}${wanted}`;
}

export interface Refusals {
  /** The newest of them. */
  last: PastRefusal;
  num: number;
}

/** Refusals of one call by one limit that follow each other are one entry. refusals: the newest first. */
export function inRows(refusals: readonly PastRefusal[]): Refusals[] {
  const rows: Refusals[] = [];
  for (const refusal of refusals) {
    const row = rows.at(-1);
    if (row && isAlike(row.last, refusal)) row.num += 1;
    else rows.push({ last: refusal, num: 1 });
  }
  return rows;
}

/** The same call was refused by the same limit, however this stood. */
function isAlike(a: PastRefusal, b: PastRefusal): boolean {
  const causes = [a, b].map(({ code, limit, surface, model, key, num_requests }) =>
    JSON.stringify([code, limit?.name, limit?.subject, surface, model, key, num_requests]),
  );
  return causes[0] === causes[1];
}

/** When a refused call may be sent again. */
export function againText({ retry_after_s: wait }: PastRefusal): string {
  if (!wait) return "Waiting does not help.";
  if (wait < 120) return `It may be sent again after ${counted(wait, "second")}.`;
  if (wait < 7200) return `It may be sent again after ${counted(Math.ceil(wait / 60), "minute")}.`;
  return `It may be sent again after ${counted(Math.ceil(wait / 3600), "hour")}.`;
}
