/** The one reducer: live, replay, comparison and export all fold events with it. */
import { DEFAULTS, type AnyEvent, type SafetyChecked } from "../protocol/events";
import { browserMoments } from "./browser-clock";
import {
  emptyGeneration,
  foldGeneration,
  isOfGeneration,
  type Generation,
  type GenerationEvent,
} from "./generations";
import type { TraceView } from "./view";

/**
 * The view after one more event. The lists inside are extended in place and shared with the view before, so that a
 * token costs the same in an answer of any length. For an earlier moment, fold again from the start.
 */
export function fold(view: TraceView, event: AnyEvent, seq: number): TraceView {
  fillIn(event);
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
    case "embedding.tokenized":
      return { ...next, embeddedTexts: event };
    case "embedding.computed":
      return { ...next, embedding: event };
    case "memory.recalled":
      return { ...next, recalled: event };
    case "context.compared":
      return replaced(next, next.generations[0]!, { ...next.generations[0]!, compared: event });
    case "bill.posted":
      return { ...next, bill: event };
    case "safety.checked":
      return checked(next, event);
    case "attachment.selected":
      return { ...next, attached: event };
    case "token.proposed":
      return { ...inGeneration(next, event), proposed: event.token, proposedAt: event.at, isStepped: true };
    case "token.sampled":
    case "generation.finished":
      return chosen(inGeneration(next, event), event.at);
    default:
      return isOfGeneration(event) ? inGeneration(next, event) : next;
  }
}

/** The view after a check of the message, of memories, of an attached file, or of anything in a generation. */
function checked(view: TraceView, event: SafetyChecked): TraceView {
  if (event.layer === "input") return { ...view, inputCheck: event };
  if (!event.subject) return inGeneration(view, event);
  if (event.subject === "memory") return { ...view, memoryChecks: [...view.memoryChecks, event] };
  return { ...view, fileChecks: [...view.fileChecks, event] };
}

/** Enter, in place, the fields that the wire leaves out where they have their default. */
function fillIn(event: AnyEvent): void {
  const fields = event as unknown as Record<string, unknown>;
  for (const [name, value] of Object.entries(DEFAULTS[event.type] ?? {}))
    if (!(name in fields)) fields[name] = value;
  if (event.type === "token.proposed") fillIn(event.token);
}

/** The view after an event of a generation. */
function inGeneration(view: TraceView, event: GenerationEvent): TraceView {
  const before = view.generations.find(({ generationNumber }) => generationNumber === event.generation);
  const after = foldGeneration(before ?? emptyGeneration(event.generation), event);
  return after === before ? view : replaced(view, before, after);
}

/** The view with another state of a generation, at the last one. */
function replaced(view: TraceView, before: Generation | undefined, after: Generation): TraceView {
  const others = view.generations.filter((each) => each !== before);
  const generations = [...others, after].sort((a, b) => a.generationNumber - b.generationNumber);
  return { ...view, generations, ...generations.at(-1)! };
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
