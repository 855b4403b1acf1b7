/** The Server-Timing header of the reply to the POST that sent a request, while this page still has it. */

export interface ServerTiming {
  name: string;
  /** µs; null: it has none. */
  us: number | null;
}

/** What the browser kept of replies is told apart by when they ended. */
const SAME_REPLY_US = 50_000;

/** respondedUnixUs: when the reply to the POST was complete, µs since the epoch. */
export function serverTimings(respondedUnixUs: number | null): ServerTiming[] {
  if (respondedUnixUs === null) return [];
  const entries = performance.getEntriesByType("resource") as PerformanceResourceTiming[];
  const distance = ({ responseEnd }: PerformanceResourceTiming) =>
    Math.abs((performance.timeOrigin + responseEnd) * 1000 - respondedUnixUs);
  const replies = entries.filter(({ name }) =>
    /\/api\/(conversations|messages|requests)\/[^/]+\/\w+$/.test(name),
  );
  const nearest = replies.toSorted((a, b) => distance(a) - distance(b))[0];
  if (!nearest || distance(nearest) > SAME_REPLY_US) return [];
  return nearest.serverTiming.map(({ name, description, duration }) => ({
    name: description || name,
    us: duration ? duration * 1000 : null,
  }));
}
