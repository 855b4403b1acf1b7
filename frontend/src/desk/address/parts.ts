/** The parts of a period: their names, and the period that one of them narrows to. Pure. */
import type { UsageReport } from "../../protocol/api";
import { dayIn, monthOf, type Days } from "./period";

type Cut = Pick<UsageReport, "unit" | "starts" | "counted_in" | "first" | "last">;

/** Short names, for an axis: "15:00", "Oct 24", "Oct 2026". */
export function shortNames({ unit, starts, counted_in }: Cut): string[] {
  const form: Intl.DateTimeFormatOptions =
    unit === "hour"
      ? { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }
      : unit === "day"
        ? { month: "short", day: "numeric" }
        : { month: "short", year: "numeric" };
  const short = new Intl.DateTimeFormat("en-US", { ...form, timeZone: counted_in });
  return starts.map((start) => short.format(new Date(start)));
}

/** Names that stand alone: "Sat, Oct 24, 15:00", "Sat, Oct 24", "October 2026". */
export function fullNames({ unit, starts, counted_in }: Cut): string[] {
  const day: Intl.DateTimeFormatOptions = { weekday: "short", month: "short", day: "numeric" };
  const form: Intl.DateTimeFormatOptions =
    unit === "hour"
      ? { ...day, hour: "2-digit", minute: "2-digit", hourCycle: "h23" }
      : unit === "day"
        ? day
        : { month: "long", year: "numeric" };
  const full = new Intl.DateTimeFormat("en-US", { ...form, timeZone: counted_in });
  return starts.map((start) => full.format(new Date(start)));
}

/** The days of one part, within the period; null: the period is no longer than them. */
export function narrowed({ unit, starts, counted_in, first, last }: Cut, part: number): Days | null {
  const day = dayIn(counted_in, new Date(starts[part]!));
  if (unit !== "month") return first === last ? null : { first: day, last: day };
  const month = monthOf(day);
  return { first: month.first < first ? first : month.first, last: month.last > last ? last : month.last };
}

/** "hour", "day" or "month" as the beginning of a title. */
export function byUnit({ unit }: Pick<Cut, "unit">): string {
  return { hour: "by hour", day: "by day", month: "by month" }[unit];
}
