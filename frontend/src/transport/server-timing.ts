/**
 * The Server-Timing header of a reply (W3C Server Timing), which a page of the same origin may read; a proxy on the way
 * may have added to it.
 */
import type { ServerInterval } from "../protocol/events";

/** Most intervals that the server accepts back, with the request (webapp.ground.gateway.body). */
const MOST_INTERVALS = 16;
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}$/;

/** Null where the reply has none. An entry that is not understood is left out, and one with the name of an earlier. */
export function serverTiming(header: string | null): ServerInterval[] | null {
  if (header === null) return null;
  const intervals = new Map<string, ServerInterval>();
  for (const entry of split(header, ",")) {
    const [name = "", ...rest] = split(entry, ";");
    if (NAME.test(name) && !intervals.has(name)) intervals.set(name, { name, duration_us: durationOf(rest) });
  }
  return [...intervals.values()].slice(0, MOST_INTERVALS);
}

function durationOf(params: string[]): number | null {
  const given = params.find((param) => /^dur\s*=/i.test(param))?.split("=")[1];
  const us = Math.round(Number.parseFloat(given?.replaceAll('"', "") ?? "") * 1000);
  return us >= 0 && Number.isSafeInteger(us) ? us : null;
}

/** Not within a quoted string, which may hold the separator (RFC 9110, 5.6.4). */
function split(text: string, separator: "," | ";"): string[] {
  const parts = text.match(separator === "," ? /("(\\.|[^"\\])*"?|[^",])+/g : /("(\\.|[^"\\])*"?|[^";])+/g);
  return (parts ?? []).map((part) => part.trim());
}
