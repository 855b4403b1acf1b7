/** A settled request's events as they were saved, from the server. */
import type { AnyEvent } from "../../protocol/events";
import { eventsOf, frameSizes } from "../../trace/saved/document";
import { api } from "../../transport/api";

/** Null where there is no saved trace that can be read here: the stream then gives the reason, or the events. */
export async function savedEvents(
  requestId: string,
): Promise<{ events: AnyEvent[]; sizes: number[] } | null> {
  try {
    const saved = await api.savedTrace(requestId);
    const events = saved && eventsOf(saved.content);
    if (!events) return null;
    const sizes = frameSizes(saved.content);
    return { events: saved.observed ? [...events, saved.observed] : events, sizes };
  } catch {
    return null;
  }
}
