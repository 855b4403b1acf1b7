/** The frames in which a request's events travelled: as this page received them, or as the log has them. */
import type { AnyEvent, Frame } from "../protocol/events";
import type { NumberedEvent } from "./view";

export interface SentFrame {
  /** Seq of its first event. */
  seq: number;
  numEvents: number;
  carrier: "websocket" | "sse" | null;
  /** When it arrived at this page, µs since the epoch by its clock; null, here and in the next: this page did not receive the frame. */
  arrivedUnixUs: number | null;
  /** Size of the message as it came, in UTF-8. */
  numBytes: number | null;
  /** Null also where the limit on kept text is reached. */
  text: string | null;
}

const encoder = new TextEncoder();

export function sentFrame(
  { seq, events }: Frame,
  text: string,
  carrier: "websocket" | "sse",
  isTextStored: boolean,
): SentFrame {
  return {
    seq,
    numEvents: events.length,
    carrier,
    arrivedUnixUs: (performance.timeOrigin + performance.now()) * 1000,
    numBytes: encoder.encode(text).length,
    text: isTextStored ? text : null,
  };
}

export function savedFrame(seq: number, numEvents: number): SentFrame {
  return { seq, numEvents, carrier: null, arrivedUnixUs: null, numBytes: null, text: null };
}

/** The frame's JSON: as it came, without the WebSocket's additions; or of its events, encoded again. */
export function frameJson(frame: SentFrame, events: NumberedEvent[]): string {
  // The tag stands first in every message.
  if (frame.text) return frame.text.replace(/^\{"tag":\d+,/, "{");
  return JSON.stringify({ seq: frame.seq, events: eventsOf(frame, events) });
}

export function eventsOf({ seq, numEvents }: SentFrame, events: NumberedEvent[]): AnyEvent[] {
  return events.slice(seq - 1, seq - 1 + numEvents).map(({ event }) => event);
}

/** A frame as server-sent events carry it (WHATWG HTML, section 9.2). */
export function sseText(frame: SentFrame, json: string): string {
  return `id: ${frame.seq + frame.numEvents - 1}\nevent: frame\ndata: ${json}\n\n`;
}
