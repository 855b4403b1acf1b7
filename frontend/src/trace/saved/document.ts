/** A saved trace as it is kept: the same events as on the wire. */
import { decode } from "@msgpack/msgpack";
import type { AnyEvent } from "../../protocol/events";
import { tokensOf, type TokenColumns } from "./columns";

interface Saved {
  /** Events per frame of the log. */
  sizes: number[];
  is_token: Uint8Array;
  /** JSON of all events but token.sampled. */
  events: Uint8Array;
  columns: TokenColumns;
}

/** All events, in order, seqs from 1. */
export function eventsOf(content: Uint8Array): AnyEvent[] {
  const saved = decode(content) as Saved;
  const tokens = tokensOf(saved.columns);
  const others = JSON.parse(new TextDecoder().decode(saved.events)) as AnyEvent[];
  let [token, other] = [0, 0];
  return Array.from(saved.is_token, (isToken) => (isToken ? tokens[token++]! : others[other++]!));
}

/** The log's frames, as sizes; the browser's own timing, which follows them, was in none. */
export function frameSizes(content: Uint8Array): number[] {
  return (decode(content) as Saved).sizes;
}
