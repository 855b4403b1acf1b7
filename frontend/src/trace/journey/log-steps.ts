/** The steps of a log that are worth a look. */
import type { AnyEvent } from "../../protocol/events";
import { shownMs } from "./pace";

type Steps = readonly { event: AnyEvent }[];

/** The number of events shown at the next step, all of which is worth a look; null: there is none. */
export function nextStep(log: Steps, shown: number): number | null {
  for (let index = shown; index < log.length; index++) if (shownMs(log[index]!.event)) return index + 1;
  return log.length > shown ? log.length : null;
}

export function stepBefore(log: Steps, shown: number): number {
  for (let index = shown - 2; index >= 0; index--) if (shownMs(log[index]!.event)) return index + 1;
  return Math.min(1, log.length);
}
