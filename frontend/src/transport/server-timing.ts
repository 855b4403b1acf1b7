/** The Server-Timing header of a reply (W3C Server Timing), which a page of the same origin may read. */
import type { ServerPhase } from "../protocol/events";

/** Null where the reply has none. An entry that is not understood is left out. */
export function serverTiming(header: string | null): ServerPhase[] | null {
  if (header === null) return null;
  return header.split(",").flatMap((entry) => {
    const [name, ...rest] = entry.split(";").map((part) => part.trim());
    if (!name) return [];
    const given = rest.find((part) => /^dur\s*=/i.test(part))?.split("=")[1];
    const ms = Number.parseFloat(given?.replaceAll('"', "") ?? "");
    return [{ name, duration_us: ms >= 0 ? Math.round(ms * 1000) : null }];
  });
}
