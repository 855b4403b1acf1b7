/** A settled request's events as they were saved, from the server. */
import type { AnyEvent } from "../../protocol/events";
import type { SavedTrace } from "../../trace/saved/document";
import { api } from "../../transport/api";

/** Null where there is no saved trace that can be read here: the stream then gives the reason, or the events. */
export async function savedEvents(
  requestId: string,
): Promise<{ events: AnyEvent[]; sizes: number[] } | null> {
  try {
    // The readers are fetched beside the first saved trace: a page that opens no trace needs none.
    const [saved, { decode }, { eventsOf }] = await Promise.all([
      api.savedTrace(requestId),
      import("@msgpack/msgpack"),
      import("../../trace/saved/document"),
    ]);
    if (!saved) return null;
    const trace = decode(saved.content) as SavedTrace;
    const events = eventsOf(trace);
    return { events: saved.observed ? [...events, saved.observed] : events, sizes: trace.sizes };
  } catch {
    return null;
  }
}
