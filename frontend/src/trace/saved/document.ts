/** A saved trace as it is stored: the same events as on the wire. Knows nothing of its packing. */
import { PROTOCOL_VERSION, type AnyEvent } from "../../protocol/events";
import { tokensOf, type TokenColumns } from "./columns";

export interface SavedTrace {
  version: number;
  /** Events per frame of the log; the browser's own timing, which follows them, was in none. */
  sizes: number[];
  is_token: Uint8Array;
  /** JSON of all events but token.sampled. */
  events: Uint8Array;
  columns: TokenColumns;
}

/** Fields of older traces that told of the worker's other sequences, and of the pool that all users share. */
const FORMER: Partial<Record<AnyEvent["type"], string[]>> = {
  "batch.composed": ["decoding", "prefilling"],
  "cache.looked_up": ["blocks", "eviction_ranks", "num_idle_blocks", "num_free_blocks"],
  "cache.stored": ["blocks"],
  "cache.evicted": ["num_blocks", "blocks"],
  "prefill.advanced": ["num_batched_tokens"],
};

/** All events, in order, seqs from 1. Throws where the trace has another version: its events have other fields. */
export function eventsOf(saved: SavedTrace): AnyEvent[] {
  if (saved.version !== PROTOCOL_VERSION) throw new Error(`The trace has version ${saved.version}.`);
  const tokens = tokensOf(saved.columns);
  const others = (JSON.parse(new TextDecoder().decode(saved.events)) as AnyEvent[]).map(withoutFormer);
  let [token, other] = [0, 0];
  return Array.from(saved.is_token, (isToken) => (isToken ? tokens[token++]! : others[other++]!));
}

function withoutFormer(event: AnyEvent): AnyEvent {
  const former = FORMER[event.type];
  if (!former) return event;
  const fields = Object.entries(event).filter(([name]) => !former.includes(name));
  return Object.fromEntries(fields) as unknown as AnyEvent;
}
