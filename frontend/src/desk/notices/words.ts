/** Words of notices, and moments as a field for them holds them. Pure. */
import type { PlannedNotice } from "../../protocol/api";

export const SEVERITIES: Record<PlannedNotice["severity"], string> = {
  info: "information",
  warning: "warning",
  urgent: "urgent",
};
export const STATES: Record<PlannedNotice["state"], string> = {
  to_come: "to come",
  now: "shown now",
  over: "over",
};

/** The moment in the browser's own zone, to the minute: "2026-11-24T08:05". */
export function fieldTime(at: Date): string {
  const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}

export function hoursFrom(at: Date, num: number): Date {
  return new Date(at.getTime() + num * 3_600_000);
}
