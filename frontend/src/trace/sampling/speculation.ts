/** The gain of guessing ahead, and its worth by the recorded times of the steps. */
import type { DraftVerified } from "../../protocol/events";
import { median, stepsOf } from "../timing/steps";
import type { TraceView } from "../view";

export interface Speculation {
  checks: DraftVerified[];
  numGuessed: number;
  numAccepted: number;
  /** The guess that another token was drawn in the place of, one at most in each check. */
  numRejected: number;
  /** Guesses after a rejected one, which were computed and never compared. */
  numUnread: number;
  /** Median duration of a decode step without guesses, µs; null: there was none. */
  plainUs: number | null;
  /** The time of the checks' tokens one by one, less their passes' time, µs; null: not known. */
  savedUs: number | null;
}

export function speculationOf(view: TraceView): Speculation {
  const checks = view.events.flatMap(({ event }) => (event.type === "draft.verified" ? [event] : []));
  const numGuessed = checks.reduce((sum, { ids }) => sum + ids.length, 0);
  const numAccepted = checks.reduce((sum, { num_accepted }) => sum + num_accepted, 0);
  const numRejected = checks.filter(({ ids, num_accepted }) => num_accepted < ids.length).length;
  const steps = stepsOf(view).filter(({ kind, us }) => kind === "decode" && us !== null);
  const plainUs = median(steps.filter(({ numOwn }) => numOwn === 1).map(({ us }) => us!));
  const passes = steps.filter(({ numOwn }) => numOwn > 1);
  return {
    checks,
    numGuessed,
    numAccepted,
    numRejected,
    numUnread: numGuessed - numAccepted - numRejected,
    plainUs,
    savedUs:
      plainUs === null || !passes.length
        ? null
        : passes.reduce((sum, { us, numGiven }) => sum + numGiven * plainUs - us!, 0),
  };
}
