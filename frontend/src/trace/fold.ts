/** The one reducer: live, replay, comparison and export all fold events with it. */
import type { AnyEvent } from "../protocol/events";
import { enter } from "./drafts";
import { browserMoments } from "./browser-clock";
import { type TraceView } from "./view";

/**
 * The view after one more event. The lists inside are extended in place and shared with the view before, so that a
 * token costs the same in an answer of any length. For an earlier moment, fold again from the start.
 */
export function fold(view: TraceView, event: AnyEvent, seq: number): TraceView {
  view.events.push({ seq, at: momentOf(view, event), event });
  const next = { ...view, at: event.type === "request.observed" ? view.at : Math.max(view.at, event.at) };
  switch (event.type) {
    case "request.accepted":
      return { ...next, accepted: event, client: event.client };
    case "request.cancelled":
      return { ...next, cancelledAt: event.at, cancelledBy: event.by };
    case "request.failed":
      return { ...next, failed: event };
    case "request.finished":
      return { ...next, finished: event };
    case "request.observed":
      return { ...next, client: event.client };
    case "gateway.checked":
      return { ...next, gateway: event };
    case "safety.checked":
      if (event.layer === "input") return { ...next, inputCheck: event };
      view.outputChecks.push(event);
      return next;
    case "context.assembled":
      return { ...next, context: event };
    case "context.compared":
      return { ...next, compared: event };
    case "prompt.tokenized":
      return { ...next, prompt: event };
    case "generation.queued":
      view.waits.push(event);
      // Again and again while it waits: the first says since when, the last how many are in front.
      return { ...next, queued: { ...event, at: view.queued?.at ?? event.at } };
    case "generation.forked":
      return { ...next, forked: event, text: view.text + event.text };
    case "generation.started":
      // Started again after a worker was lost: the times before the first token are the first attempt's.
      return { ...next, started: view.started ?? event };
    case "generation.interrupted":
      view.interruptions.push(event);
      return next;
    case "generation.finished":
      return { ...chosen(next, event.at), generation: event };
    case "cache.looked_up":
      // Looked up again after a preemption: the first look-up says what the prompt was spared.
      return { ...next, cache: view.cache ?? event };
    case "cache.stored":
      view.stored.push(event);
      return next;
    case "cache.evicted":
      view.evicted.push(event);
      return next;
    case "generation.preempted":
      view.preemptions.push(event);
      return next;
    case "batch.composed":
      view.batches.push(event);
      return next;
    case "tool.called":
      view.toolCalls.push(event);
      return next;
    case "tool.finished":
      view.toolResults.push(event);
      return next;
    case "prefill.advanced":
      view.prefill.push(event);
      return next;
    case "token.sampled":
      view.tokens.push(event);
      return chosen(next, event.at);
    case "token.proposed":
      return { ...next, proposed: event.token, proposedAt: event.at, isStepped: true };
    case "draft.verified":
      enter(view.drafts, event);
      return next;
    case "grammar.masked":
      view.masks.push(event);
      return next;
    case "text.released":
      view.releases.push(event);
      return { ...next, text: view.text + event.text };
    case "text.withheld":
      return { ...next, withheld: event, text: `${view.text}\n\n${event.replacement}` };
    case "bill.posted":
      return { ...next, bill: event };
    default:
      return next;
  }
}

/** Close the wait for a person's choice, if there is one. */
function chosen(view: TraceView, at: number): TraceView {
  if (view.proposedAt === null) return view;
  view.choices.push({ start: view.proposedAt, end: at });
  return { ...view, proposed: null, proposedAt: null };
}

/** The moment of an event; the browser's later report counts at its last paint, if it had one. */
function momentOf(view: TraceView, event: AnyEvent): number {
  if (event.type !== "request.observed") return event.at;
  return browserMoments({ ...view, client: event.client }).lastPaint ?? view.at;
}
