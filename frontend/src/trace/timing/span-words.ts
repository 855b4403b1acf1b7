/** Spans and marks in words: what it is called, and one sentence on what it means. */
import type { AnyEvent } from "../../protocol/events";
import type { StageId } from "../stages";
import { counted, duration } from "../format";
import type { Span } from "./spans";
import { nameOf } from "../token-name";

const MOST = 32;
const cut = (text: string) => (text.length > MOST ? `${text.slice(0, MOST)}…` : text);

export function spanName(span: Span): string {
  return span.title ?? (span.event ? eventName(span.event) : span.stage);
}

/** What is drawn on the bar itself, where there is room: a token's own text says more than its number. */
export function barLabel(span: Span): string {
  return span.event?.type === "token.sampled" ? nameOf(span.event) : spanName(span);
}

function eventName(event: AnyEvent): string {
  switch (event.type) {
    case "token.sampled":
      return `token ${event.position + 1}: ${nameOf(event)}`;
    case "prefill.advanced":
      return `prompt tokens ${event.start + 1} to ${event.end}`;
    case "safety.checked":
      return `check of the ${event.layer === "output" ? "answer" : "tool's result"}: ${event.verdict}`;
    case "text.released":
      return `text released: ${cut(event.text.replaceAll("\n", "↵"))}`;
    case "text.withheld":
      return `${counted(event.num_tokens, "token")} withheld`;
    case "draft.verified":
      return `${event.num_accepted} of ${counted(event.ids.length, "guess", "guesses")} accepted`;
    case "grammar.masked":
      return `grammar left ${counted(event.num_allowed, "token")}`;
    case "cache.looked_up":
      return `cache: ${counted(event.num_cached_tokens, "token")} found`;
    case "cache.stored":
      return `${counted(event.num_blocks, "block")} stored in the cache`;
    case "cache.evicted":
      return `${counted(event.num_blocks, "block")} evicted from the cache`;
    case "generation.preempted":
      return `preempted: ${counted(event.num_blocks, "block")} given up`;
    case "generation.resumed":
      return `resumed by attempt ${event.attempt}`;
    case "generation.finished":
      return `generation finished: ${event.finish_reason}`;
    case "request.cancelled":
      return `stopped by ${event.by}`;
    case "request.failed":
      return `failed: ${event.code.replaceAll("_", " ")}`;
    case "gateway.refused":
      return `refused: ${event.limit.name.replaceAll("_", " ")}`;
    default:
      return event.type;
  }
}

const STAGE_MEANINGS: Record<StageId, string> = {
  browser: "Measured in the browser: your key, the network and the painting of text.",
  gateway: "The gate signs the request in, checks its limits and records it.",
  safety: "A classifier reads the message before any model does.",
  context: "System prompt, history and message are packed into one block that fits the window.",
  prompt: "The prompt becomes the tokens that the model reads.",
  queue: "The request waits until the engine has room for it.",
  prefill: "The model reads the prompt, many tokens in one step.",
  decode: "One pass of the model gives the next token.",
  guard: "A classifier reads the answer before you do; text is held until then.",
  bill: "The tokens are priced, and the trace is saved.",
};

const EVENT_MEANINGS: Partial<Record<AnyEvent["type"], string>> = {
  "token.sampled": "One pass of the model gave this token; it was drawn from the model's probabilities.",
  "prefill.advanced": "One engine step read these tokens of the prompt and kept their keys and values.",
  "text.released": "The output check let this text through; from here it travels to the browser.",
  "text.withheld": "The output check stopped this text; it never left the worker.",
  "draft.verified":
    "Tokens guessed ahead were checked in one pass; the accepted ones cost no pass of their own.",
  "grammar.masked": "The constraint removed every token that could not continue a valid answer.",
  "cache.looked_up": "Blocks of the prompt that are in the cache need not be computed again.",
  "cache.stored": "These blocks can be used again by your next message.",
  "cache.evicted": "The least recently used blocks made room for this request.",
  "generation.preempted":
    "Memory was short: the request gave up its blocks and waited. What it had written stays.",
  "generation.resumed": "Another attempt continued after the last token in the log.",
  "generation.finished": "The sequence left the engine.",
  "request.cancelled": "Generation ends within one engine step.",
  "request.failed": "The request could not be answered.",
  "gateway.refused": "A limit was reached.",
};

export function meaning(span: Span): string {
  return (span.event && EVENT_MEANINGS[span.event.type]) ?? STAGE_MEANINGS[span.stage];
}

export function waitMeaning(stage: StageId | null): string {
  return stage ? STAGE_MEANINGS[stage] : "No event covers this time: one process hands over to the next.";
}

/** For ears: name, start and duration. */
export function announcement(span: Span, lane: string): string {
  const length = span.isMark
    ? "a moment"
    : span.isOpen
      ? "not ended yet"
      : `lasted ${duration(span.end - span.start)}`;
  return `${lane}: ${spanName(span)}, at ${duration(span.start)}, ${length}`;
}
