/** The periods that can be chosen, as days of a time zone. Pure: a day is a text such as 2026-10-24. */

/** Days from the first to the last, both included. */
export interface Days {
  first: string;
  last: string;
}

export const PERIODS = {
  today: "Today",
  yesterday: "Yesterday",
  "7d": "7 days",
  "30d": "30 days",
  "90d": "90 days",
  month: "This month",
  "last-month": "Last month",
} as const;
export type PeriodName = keyof typeof PERIODS;

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const DAY_MS = 86_400_000;

export function isPeriodName(text: string): text is PeriodName {
  return Object.hasOwn(PERIODS, text);
}

/** True for a day that the calendar has. */
export function isDay(text: string): boolean {
  if (!DAY.test(text)) return false;
  const at = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text);
}

export function isZone(name: string): boolean {
  try {
    return Boolean(name && new Intl.DateTimeFormat("en-US", { timeZone: name }));
  } catch {
    return false;
  }
}

/** The day of an instant in a time zone. */
export function dayIn(zone: string, instant: Date): string {
  const parts = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
  }).formatToParts(instant);
  const part = (name: string) => parts.find(({ type }) => type === name)!.value;
  return `${part("year").padStart(4, "0")}-${part("month")}-${part("day")}`;
}

export function addDays(day: string, number: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + number * DAY_MS).toISOString().slice(0, 10);
}

export function numDays({ first, last }: Days): number {
  return Math.round((Date.parse(last) - Date.parse(first)) / DAY_MS) + 1;
}

/** First and last day of the day's month. */
export function monthOf(day: string): Days {
  const [year, month] = day.split("-").map(Number) as [number, number];
  const last = new Date(Date.UTC(year, month, 0)).toISOString().slice(0, 10);
  return { first: `${day.slice(0, 7)}-01`, last };
}

/** The days of a period that is named from today. This month ends today. */
export function daysOf(period: PeriodName, today: string): Days {
  if (period === "today") return { first: today, last: today };
  if (period === "yesterday") return { first: addDays(today, -1), last: addDays(today, -1) };
  if (period === "month") return { first: monthOf(today).first, last: today };
  if (period === "last-month") return monthOf(addDays(monthOf(today).first, -1));
  return { first: addDays(today, 1 - parseInt(period)), last: today };
}

/** The days in words: "Oct 1 to 30, 2026". */
export function daysText({ first, last }: Days): string {
  const [from, to] = [first, last].map((day) => new Date(`${day}T00:00:00Z`)) as [Date, Date];
  const text = (date: Date, ...parts: ("year" | "month")[]) =>
    date.toLocaleDateString("en-US", {
      timeZone: "UTC",
      day: "numeric",
      ...(parts.includes("month") && { month: "short" }),
      ...(parts.includes("year") && { year: "numeric" }),
    });
  if (first > last) return `${text(from, "month", "year")} to ${text(to, "month", "year")}`;
  if (first === last) return text(to, "month", "year");
  if (first.slice(0, 4) !== last.slice(0, 4))
    return `${text(from, "month", "year")} to ${text(to, "month", "year")}`;
  const year = first.slice(0, 4);
  return first.slice(0, 7) === last.slice(0, 7)
    ? `${text(from, "month")} to ${text(to)}, ${year}`
    : `${text(from, "month")} to ${text(to, "month")}, ${year}`;
}
