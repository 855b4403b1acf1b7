/** The parts of a period: their names, and the period that one of them narrows to. Pure. */
import type { UsageReport } from "../../protocol/api";
import type { Choices } from "./address";
import { dayIn, monthOf } from "./period";
import { inZone } from "./zoned";

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

/** The choices that one part leads to: its days within the period, and its hour. */
export function narrowed(cut: Cut, part: number): Pick<Choices, "period" | "weekday" | "hour"> {
  const { unit, counted_in, first, last } = cut;
  const start = new Date(cut.starts[part]!);
  const day = dayIn(counted_in, start);
  if (unit !== "month")
    return {
      period: { first: day, last: day },
      weekday: "",
      hour: unit === "hour" ? hourIn(counted_in, start) : "",
    };
  const month = monthOf(day);
  const days = {
    first: month.first < first ? first : month.first,
    last: month.last > last ? last : month.last,
  };
  return { period: days, weekday: "", hour: "" };
}

const hour = inZone({ hour: "numeric", hourCycle: "h23" });

/** The hour of the day, from 0 to 23. */
export function hourIn(zone: string, at: Date): string {
  return String(Number(hour(at, zone)));
}

/** "hour", "day" or "month" as the beginning of a title. */
export function byUnit({ unit }: Pick<Cut, "unit">): string {
  return { hour: "by hour", day: "by day", month: "by month" }[unit];
}

/** A part's press in words. */
export function pressText({ unit }: Pick<Cut, "unit">): string {
  return {
    hour: "Press for the requests of this hour.",
    day: "Press for the hours of this day.",
    month: "Press for this month.",
  }[unit];
}
