/** Rules of alerts and their deliveries in words. Pure. */
import type { AlertDelivery, AlertRule } from "../../protocol/api";
import { counted } from "../../trace/format";

export type Kind = AlertRule["kinds"][number];
export type Severity = AlertRule["least_severity"];

export const KINDS: Record<Kind, string> = {
  cost: "Cost far above the usual",
  cache: "Falling share from the cache",
  causes: "More failures or refusals",
  slow_hours: "Slow hours",
  slow_worker: "A slow worker",
  spender: "A user who spends far more",
  growth: "Growing inputs",
};

export const SEVERITIES: Record<Severity, string> = {
  high: "only the most important",
  medium: "important ones",
  low: "all",
};

/** What a rule tells of: "All findings, weighty ones". */
export function ruleText({ kinds, least_severity }: AlertRule): string {
  const what = kinds.length ? kinds.map((kind) => KINDS[kind]).join(", ") : "Every kind of finding";
  return least_severity === "low" ? what : `${what}: ${SEVERITIES[least_severity]}`;
}

const short = new Intl.DateTimeFormat("en-US", {
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
});

/** A moment in the browser's own time: "Nov 23, 15:04". */
export function timeText(at: string): string {
  return short.format(new Date(at));
}

/** What became of an alert: "sent", "waits for attempt 3 at Nov 23, 15:08", "failed after 6 attempts". */
export function statusText({ status, num_attempts, due_at }: AlertDelivery): string {
  if (status === "sent") return num_attempts > 1 ? `sent at attempt ${num_attempts}` : "sent";
  if (status === "failed") return `failed after ${counted(num_attempts, "attempt")}`;
  return num_attempts && due_at ? `waits for attempt ${num_attempts + 1} at ${timeText(due_at)}` : "waits";
}
