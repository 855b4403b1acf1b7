/**
 * The Server-Timing header of a reply (W3C Server Timing), which a page of the same origin may read; a proxy on the way
 * may have added to it.
 */
import type { ServerPhase } from "../protocol/events";

/** Most phases that the server accepts back, with the request (webapp.gateway.body). */
const MOST_PHASES = 16;
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}$/;

/** Null where the reply has none. An entry that is not understood is left out, and one with the name of an earlier. */
export function serverTiming(header: string | null): ServerPhase[] | null {
  if (header === null) return null;
  const phases = new Map<string, ServerPhase>();
  for (const entry of split(header, ",")) {
    const [name = "", ...rest] = split(entry, ";");
    if (NAME.test(name) && !phases.has(name)) phases.set(name, { name, duration_us: durationOf(rest) });
  }
  return [...phases.values()].slice(0, MOST_PHASES);
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
