/** Words and forms of figures on the desk. Pure. */
import type { UsageFigures } from "../../protocol/api";
import { count, decimal, duration, money, percent } from "../../trace/format";
import type { Measure } from "../address/address";

export const STATUSES: Record<string, string> = {
  done: "done",
  stopped: "stopped",
  failed: "failed",
  refused: "refused",
  blocked: "blocked",
  withheld: "withheld",
};
export const SURFACES: Record<string, string> = {
  chat: "the chat",
  replay: "sets of runs",
  openai: "the OpenAI API",
  anthropic: "the Anthropic API",
  agent: "agents",
};
export const VERDICTS: Record<string, string> = {
  allow: "Allowed",
  flag: "Flagged",
  rewrite: "Rewritten",
  block: "Blocked",
};

export const WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/** A time of the week: "Mondays, 15:00 to 16:00", "Mondays", "15:00 to 16:00"; empty: every time. */
export function slotText(weekday: string, hour: string): string {
  const day = weekday && `${WEEKDAYS[Number(weekday)]!}s`;
  return [day, hour && `${hour}:00 to ${Number(hour) + 1}:00`].filter(Boolean).join(", ");
}

/** A cause as words: "queue_full" is "queue full". */
export function causeText(code: string): string {
  return code ? code.replaceAll("_", " ").replace(":", ": ") : "no cause recorded";
}

/** The figures' amount in a currency; a figure without one is 0, since nothing was billed in it. */
export function nanoOf(amounts: UsageFigures["cost"], currency: string): number {
  return amounts.find((each) => each.currency === currency)?.nano ?? 0;
}

/** All tokens of prompts, however they are priced. */
export function numInput(
  figures: Pick<UsageFigures, "uncached_input" | "cache_read" | "cache_write_5m" | "cache_write_1h">,
): number {
  return figures.uncached_input + figures.cache_read + figures.cache_write_5m + figures.cache_write_1h;
}

/** Requests without an answer: failed or refused. */
export function numErrors({ num_failed, num_refused }: UsageFigures): number {
  return num_failed + num_refused;
}

export function valueOf(figures: UsageFigures, measure: Measure, currency: string): number {
  if (measure === "cost") return nanoOf(figures.cost, currency);
  if (measure === "requests") return figures.num_requests;
  if (measure === "input") return numInput(figures);
  if (measure === "cached") return figures.cache_read;
  return measure === "output" ? figures.output : numErrors(figures);
}

export function measureText(measure: Measure, currency: string): (value: number) => string {
  return measure === "cost" ? (nano) => money(nano, currency) : count;
}

/** A value on an axis: "12k", "$0.50". */
export function axisText(measure: Measure, currency: string): (value: number) => string {
  const short = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
  if (measure !== "cost") return (value) => short.format(value);
  if (!/^[A-Z]{3}$/.test(currency)) return (nano) => short.format(nano / 1e9);
  const inMoney = new Intl.NumberFormat("en-US", {
    style: "currency",
    currency,
    notation: "compact",
    minimumFractionDigits: 0,
    maximumSignificantDigits: 3,
  });
  const small = new Intl.NumberFormat("en-US", { style: "currency", currency, maximumFractionDigits: 9 });
  return (nano) => (nano < 1e9 ? small : inMoney).format(nano / 1e9);
}

/** The change from the period before: "+18 %". */
export function change(now: number, before: number): string {
  if (now === before) return "no change";
  if (before === 0) return "new";
  const share = (now - before) / Math.abs(before);
  if (share > 9.995) return `${signed(now / before, 0, "")}\u00a0times`.replace("+", "");
  return signed(share * 100, Math.abs(share) < 0.0995 ? 1 : 0, "\u00a0%");
}

/** The change of a time: "+20 ms". */
export function changeOfTime(now: number, before: number): string {
  const more = now - before;
  return Math.abs(more) < 500 ? "no change" : `${more > 0 ? "+" : ""}${duration(more)}`;
}

/** The change of a share, in points of a per cent. */
export function changeOfShare(now: number, before: number): string {
  const points = (now - before) * 100;
  if (Math.abs(points) < 0.005) return "no change";
  return signed(points, Math.abs(points) < 0.995 ? 2 : 1, "\u00a0pts");
}

function signed(value: number, digits: number, unit: string): string {
  const text = decimal(value, digits);
  return `${value > 0 ? "+" : ""}${text}${unit}`;
}

export function shareText(part: number, whole: number): string {
  return whole ? percent(part / whole) : "0\u00a0%";
}
