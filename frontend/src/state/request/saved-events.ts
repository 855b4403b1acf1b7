/** A settled request's events as they were saved, from the server. */
import type { AnyEvent } from "../../protocol/events";
import { api } from "../../transport/api";

/** Null where there is no saved trace that can be read here: the stream then gives the reason, or the events. */
export async function savedEvents(
  requestId: string,
): Promise<{ events: AnyEvent[]; sizes: number[] } | null> {
  try {
    // Its reader is fetched beside the first saved trace: a page that opens no trace needs none.
    const [saved, { eventsOf, frameSizes }] = await Promise.all([
      api.savedTrace(requestId),
      import("../../trace/saved/document"),
    ]);
    if (!saved) return null;
    const events = eventsOf(saved.content);
    const sizes = frameSizes(saved.content);
    return { events: saved.observed ? [...events, saved.observed] : events, sizes };
  } catch {
    return null;
  }
}
