/** Conversations under the days on which something was last said in them, as a person's calendar has them. */

interface Dated {
  updated_at: string;
  is_pinned: boolean;
}

export interface Group<Each> {
  label: string;
  items: Each[];
}

const DAY_MS = 86_400_000;

/** In the order in which they came; a group is where its first one is. timeZone: the reader's own where none is given. */
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
  /** Since 1970. */
  number: number;
  year: number;
  month: string;
}

/** Days are counted by their dates: a day on which clocks change has 23 or 25 hours. */
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

/** A clock that is behind the server's finds something said tomorrow: that is today. */
function labelOf(day: Day, today: Day): string {
  const ago = today.number - day.number;
  if (Number.isNaN(ago)) return "Undated";
  if (ago <= 0) return "Today";
  if (ago === 1) return "Yesterday";
  if (ago <= 7) return "Previous 7 days";
  return day.year === today.year ? day.month : `${day.month} ${day.year}`;
}
