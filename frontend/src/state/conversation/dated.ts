/** Conversations grouped by the day of their last message, in the reader's calendar. */

interface Dated {
  updated_at: string;
  is_pinned: boolean;
}

export interface Group<Each> {
  label: string;
  items: Each[];
}

const DAY_MS = 86_400_000;

/** Group the list by label, in its own order. timeZone: the reader's own by default. */
export function dated<Each extends Dated>(
  list: readonly Each[],
  now: Date,
  timeZone?: string,
): Group<Each>[] {
  const calendar = calendarOf(timeZone);
  const today = calendar(now);
  const groups = new Map<string, Each[]>();
  for (const each of list) {
    const label = each.is_pinned ? "Pinned" : labelOf(calendar(new Date(each.updated_at)), today);
    const items = groups.get(label) ?? [];
    groups.set(label, [...items, each]);
  }
  return [...groups].map(([label, items]) => ({ label, items }));
}

interface Day {
  /** Days since 1970. */
  number: number;
  year: number;
  month: string;
}

/** Return a function from time to day. It counts by dates, since a day on which clocks change has 23 or 25 hours. */
function calendarOf(timeZone: string | undefined): (at: Date) => Day {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    year: "numeric",
    month: "numeric",
    day: "numeric",
  });
  const months = new Intl.DateTimeFormat("en-US", { timeZone: "UTC", month: "long" });
  return (at) => {
    if (Number.isNaN(at.getTime())) return { number: NaN, year: NaN, month: "" };
    const parts = Object.fromEntries(
      format.formatToParts(at).map(({ type, value }) => [type, Number(value)]),
    );
    const midnight = Date.UTC(parts.year!, parts.month! - 1, parts.day);
    return { number: midnight / DAY_MS, year: parts.year!, month: months.format(midnight) };
  };
}

/** The label of a day. A later day than today, by a browser clock behind the server's, counts as today. */
function labelOf(day: Day, today: Day): string {
  const ago = today.number - day.number;
  if (Number.isNaN(ago)) return "Undated";
  if (ago <= 0) return "Today";
  if (ago === 1) return "Yesterday";
  if (ago <= 7) return "Previous 7 days";
  return day.year === today.year ? day.month : `${day.month} ${day.year}`;
}
