/** A settled request's numbered events, and the view that they give. */
import type { AnyEvent } from "../../protocol/events";
import { fold } from "../../trace/fold";
import { emptyView, type TraceView } from "../../trace/view";
import { savedEvents } from "./saved-events";

export interface SavedLog {
  log: { event: AnyEvent; seq: number }[];
  view: TraceView;
}

/** Throws where the request has not ended, or its trace cannot be read. */
export async function savedLog(requestId: string): Promise<SavedLog> {
  const saved = await savedEvents(requestId);
  if (!saved) throw new Error("The saved trace cannot be read yet. Try again when the answer has ended.");
  const log = saved.events.map((event, index) => ({ event, seq: index + 1 }));
  const view = log.reduce((so, { event, seq }) => fold(so, event, seq), emptyView());
  return { log, view };
}
