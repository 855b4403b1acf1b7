/** Entries of the audit log as words. Pure. */
import type { AuditEntry } from "../../protocol/api";
import { inZone } from "../../charts/address/zoned";

/** Entries of one day, the newest first. */
export interface AuditDay {
  /** "Monday, November 23, 2026". */
  name: string;
  entries: AuditEntry[];
}

export const PRODUCT = "The product";

/** The entries by their days in the reader's time zone. The order of the entries stays. */
export function daysOf(entries: readonly AuditEntry[], zone?: string): AuditDay[] {
  const form = new Intl.DateTimeFormat("en-US", {
    weekday: "long",
    month: "long",
    day: "numeric",
    year: "numeric",
    timeZone: zone,
  });
  const days: AuditDay[] = [];
  for (const entry of entries) {
    const name = form.format(new Date(entry.at));
    if (days.at(-1)?.name !== name) days.push({ name, entries: [] });
    days.at(-1)!.entries.push(entry);
  }
  return days;
}

/** The time of the day in the reader's time zone, to the second. */
export const timeText = inZone({ hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

/** A field's name as words: "unit_price_nano" is "unit price nano". */
export function nameText(name: string): string {
  return name.replaceAll("_", " ");
}

/** A value as it is shown: a missing one is a dash, an empty text says so. */
export function valueText(value: string | null): string {
  return value === null ? "–" : value || "(empty)";
}
