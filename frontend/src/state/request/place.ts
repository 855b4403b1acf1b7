/** A place in a request as an address names it: a panel, and a token or a moment. */
import { numKept } from "../../trace/view";
import type { RequestTrace } from "./request-trace.svelte";

export interface Place {
  panel: string | null;
  /** As the panels count them, from 1. */
  token: number | null;
  /** µs since acceptance. */
  time: number | null;
}

/** The place in an address; invalid values are left out. */
export function placeOf(search: string): Place {
  const query = new URLSearchParams(search);
  const whole = (name: string, least: number) => {
    const value = query.get(name) ?? "";
    return /^\d{1,15}$/.test(value) && Number(value) >= least ? Number(value) : null;
  };
  return { panel: query.get("panel"), token: whole("token", 1), time: whole("t", 0) };
}

/** Empty where nothing is named, else with its question mark. */
export function searchOf({ panel, token, time }: Place): string {
  const query = new URLSearchParams();
  if (token !== null) query.set("token", String(token));
  else if (time !== null) query.set("t", String(time));
  if (panel !== null) query.set("panel", panel);
  return query.size ? `?${query}` : "";
}

/** The playhead's place; live it has none. */
export function placeIn(trace: RequestTrace, panel: string | null): Place {
  if (trace.isLive) return { panel, token: null, time: null };
  // Tokens count from the answer's first, also where those before were taken over from another.
  const isAtToken = trace.selected !== null && trace.selected === trace.view.tokens.at(-1)?.position;
  return { panel, token: isAtToken ? trace.selected! + 1 : null, time: Math.round(trace.position) };
}

/** A missing token leads nowhere; one that was kept, or may still come, is selected without going back. */
export function goTo(trace: RequestTrace, { token, time }: Place): void {
  if (token !== null && trace.whole.tokens.some(({ position }) => position === token - 1))
    trace.select(token - 1);
  else if (token !== null && (!trace.isEnded || token <= numKept(trace.whole))) trace.selected = token - 1;
  else if (token === null && time !== null) trace.seek(time);
}
