/** The pace at which a replay explains: the duration of each event, and the beginning of each scene. */
import { type AnyEvent, SHOWN } from "../../protocol/events";

/** The first tokens are explained more slowly: later ones repeat known steps. */
const FIRST_TOKENS_MS = [8000, 4000, 2500];

export function shownMs(event: AnyEvent): number {
  const first = event.type === "token.sampled" ? FIRST_TOKENS_MS[event.position] : undefined;
  return first ?? SHOWN[event.type]?.replay_ms ?? 0;
}

/** The shares of a token's showing: its candidates rise, the processors work, the rest lines up, u falls on one. */
export const DRAW_PARTS = { risen: 0.16, cut: 0.52, lined: 0.72, drawn: 0.9 };

/** Below this a movement is a flicker: the event is shown as it ends. */
const LEAST_MS = 300;

/**
 * The progress of an event's showing, 0 to 1, when time passes at its own speed: `sinceMs` after it, and the next comes
 * `gapMs` after it (on the wall's clock).
 */
export function progress(event: AnyEvent, sinceMs: number, gapMs: number): number {
  const length = Math.min(gapMs, shownMs(event));
  return length < LEAST_MS ? 1 : Math.min(1, Math.max(0, sinceMs / length));
}
