/** How far the server's clock is from the browser's, as far as that is known. */
import type { ClientTiming } from "../protocol/events";
import { duration } from "./format";

type Offset = Pick<ClientTiming, "clock_offset_us"> & Partial<Pick<ClientTiming, "clock_offset_error_us">>;

/** What to add to the browser's times, µs: nothing where the clocks may well be equal. Null: they were not compared. */
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
