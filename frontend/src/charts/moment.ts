/** Moments in the browser's own zone. */
const MOMENT = new Intl.DateTimeFormat("en-US", {
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
});

/** "Oct 24, 15:03"; "never" for none. */
export function momentText(at: string | null): string {
  return at === null ? "never" : MOMENT.format(new Date(at));
}
