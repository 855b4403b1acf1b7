/** Spans and marks in words: a name, and one sentence on the meaning. */
import { type AnyEvent, type SafetyChecked, SHOWN } from "../../protocol/events";
import type { StageId } from "../stages";
import { counted, duration } from "../format";
import type { Span } from "./spans";
import { TAKEN_OVER } from "../take-overs";
import { nameOf } from "../token-name";
import { VERDICT_NAMES } from "../verdicts";

const MOST = 32;
const cut = (text: string) => (text.length > MOST ? `${text.slice(0, MOST)}…` : text);

export function spanName(span: Span): string {
  return span.title ?? (span.event ? eventName(span.event) : span.stage);
}

/** The label on the bar itself, where there is room: a token's own text says more than its number. */
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
      return `check of ${checkedText(event)}: ${VERDICT_NAMES[event.verdict]}`;
    case "tool.finished":
      return event.is_error ? "tool: failed" : "tool";
    case "thinking.released":
      return `thought: ${cut(event.text.replaceAll("\n", "↵"))}`;
    case "text.released":
      return `text released: ${cut(event.text.replaceAll("\n", "↵"))}`;
    default:
      return filled(SHOWN[event.type]?.label ?? "", event) || event.type;
  }
}

function checkedText({ layer, subject }: SafetyChecked): string {
  if (subject) return subject === "memory" ? "the memories" : "a file";
  return layer === "output" ? "the answer" : "the tool's result";
}

/** A label's template with the event's fields in it, as described at `Shown`. */
function filled(template: string, event: AnyEvent): string {
  return template.replaceAll(
    /\{([\w.]+)(?:\|(\w+))?(?:\|(\w+))?\}/g,
    (_, path: string, noun?: string, plural?: string) => {
      const value = path
        .split(".")
        .reduce<unknown>((part, name) => (part as Record<string, unknown>)[name], event);
      if (noun) return counted(Array.isArray(value) ? value.length : (value as number), noun, plural);
      return String(value).replaceAll("_", " ");
    },
  );
}

const STAGE_MEANINGS: Record<StageId, string> = {
  browser: "Measured in the browser: your key press, the network and the painting of text.",
  gateway: "The gateway signs the request in, checks its limits and records it.",
  safety: "A classifier reads the message before any model does.",
  context: "The server packs system prompt, history and message into one prompt that fits the window.",
  tokens: "The tokenizer cuts the prompt into the tokens that the model reads.",
  queue: "The request waits until the engine has room for it.",
  prefill: "The model reads the prompt, many tokens in one step.",
  sampling: "One pass of the model gives the next token.",
  tools: "The answer pauses while the server runs the tools that the model called.",
  release: "A classifier reads the answer before you do. The worker holds the text until then.",
  bill: "The server prices the tokens and saves the trace.",
};

export function meaning(span: Span): string {
  return (span.event && SHOWN[span.event.type]?.meaning) || STAGE_MEANINGS[span.stage];
}

export function waitMeaning(stage: StageId | null, label: string): string {
  if (Object.values<string>(TAKEN_OVER).includes(label)) return SHOWN["generation.interrupted"]!.meaning;
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
