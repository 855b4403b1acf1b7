/** A saved trace as it is stored: the same events as on the wire. Knows nothing of its packing. */
import type { AnyEvent } from "../../protocol/events";
import { tokensOf, type TokenColumns } from "./columns";

export interface SavedTrace {
  /** Events per frame of the log; the browser's own timing, which follows them, was in none. */
  sizes: number[];
  is_token: Uint8Array;
  /** JSON of all events but token.sampled. */
  events: Uint8Array;
  columns: TokenColumns;
}

/** All events, in order, seqs from 1. */
export function eventsOf(saved: SavedTrace): AnyEvent[] {
  const tokens = tokensOf(saved.columns);
  const others = JSON.parse(new TextDecoder().decode(saved.events)) as AnyEvent[];
  let [token, other] = [0, 0];
  return Array.from(saved.is_token, (isToken) => (isToken ? tokens[token++]! : others[other++]!));
}
