/** Puts the browser's moments on the server's clock, as far as the offset of the two is known. */
import type { ClientTiming } from "../protocol/events";
import { duration } from "./format";
import type { TraceView } from "./view";

type Offset = Pick<ClientTiming, "clock_offset_us"> & Partial<Pick<ClientTiming, "clock_offset_error_us">>;

/** The correction of the browser's times, µs: 0 where the clocks may well be equal. Null: they were not compared. */
export function correctionOf(client: Offset | null): number | null {
  const offset = client?.clock_offset_us ?? null;
  if (offset === null) return null;
  return Math.abs(offset) <= (client?.clock_offset_error_us ?? -1) ? 0 : offset;
}

export function offsetText(client: Offset | null, none: string): string {
  const offset = client?.clock_offset_us ?? null;
  if (offset === null) return none;
  const error = client?.clock_offset_error_us ?? null;
  return error === null ? duration(offset) : `${duration(offset)} ±\u202f${duration(error)}`;
}

export interface BrowserMoments {
  keydown: number | null;
  sent: number | null;
  responded: number | null;
  firstFrame: number | null;
  firstPaint: number | null;
  lastPaint: number | null;
}

/** The browser's moments on the server's clock, µs since acceptance. */
export function browserMoments(view: TraceView): BrowserMoments {
  const { client, accepted } = view;
  const convert = (unix: number | null | undefined): number | null =>
    unix == null || !accepted ? null : unix + (correctionOf(client) ?? 0) - accepted.accepted_unix_us;
  return {
    keydown: convert(client?.keydown_unix_us),
    sent: convert(client?.sent_unix_us),
    responded: convert(client?.responded_unix_us),
    firstFrame: convert(client?.first_frame_unix_us),
    firstPaint: convert(client?.first_paint_unix_us),
    lastPaint: convert(client?.last_paint_unix_us),
  };
}
