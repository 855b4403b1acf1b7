/** Moments in words, by time zone. Pure. */

/** Makes each zone's formatter once: making one takes a hundred times as long as using it. */
export function inZone(form: Intl.DateTimeFormatOptions): (at: string | Date, zone?: string) => string {
  const made = new Map<string | undefined, Intl.DateTimeFormat>();
  return (at, zone) => {
    const format = made.get(zone) ?? new Intl.DateTimeFormat("en-US", { ...form, timeZone: zone });
    made.set(zone, format);
    return format.format(new Date(at));
  };
}
