/** The state or the end of a request, by the same rules as webapp.lifecycle.settle. */
import { FAILURES, type TextWithheld, type Usage } from "../protocol/events";
import { count, counted } from "./format";
import { allTokens, atLastGeneration, isOver, numKept, type TraceView } from "./view";

export type Outcome =
  "running" | "done" | "length" | "repetition" | "stopped" | "withheld" | "blocked" | "failed";

export function outcomeOf(view: TraceView): Outcome {
  if (!isOver(view)) return "running";
  const { generation, withheld } = atLastGeneration(view);
  // A stop between two generations is told by the request's own end.
  const reason = view.finished?.finish_reason === "abort" ? "abort" : (generation?.finish_reason ?? null);
  // A stop sets the worker's flag first. Its caller may die before the log tells of it.
  if (reason === "abort" || (view.cancelledAt !== null && reason === null)) return "stopped";
  if (view.failed) return view.failed.code === "blocked" ? "blocked" : "failed";
  if (withheld) return "withheld";
  return reason === "length" || reason === "repetition" ? reason : "done";
}

/** The reason that a request which is over has no bill. */
export function noBill(view: TraceView): string {
  const { generation } = atLastGeneration(view);
  const hasComputed = allTokens(view).length > 0 || generation !== null || view.embedding !== null;
  return hasComputed && outcomeOf(view) === "failed"
    ? "The answer failed, so there is nothing to pay."
    : "The model computed nothing, so there is nothing to pay.";
}

/** Tokens of an answer that was cut, those it began with included, and the limit that cut it. */
export interface Cut {
  given: number;
  asked: number;
  /** `room`: there was none, and the events that name the limit are not read. */
  by: "setting" | "window" | "worker" | "server" | "room";
}

/** Null: the answer did not end at a limit, or is not known well enough. */
export function cutOf(whole: TraceView): Cut | null {
  const view = atLastGeneration(whole);
  const { accepted, context } = view;
  if (outcomeOf(view) !== "length" || !accepted || !context) return null;
  const asked = accepted.params.max_tokens;
  const given = numKept(view) + view.tokens.length;
  const isFull = context.num_prompt_tokens + given >= context.window;
  const elsewhere = view.started?.server ? "server" : "worker";
  return { given, asked, by: given >= asked ? "setting" : isFull ? "window" : elsewhere };
}

const CUTS: Record<Exclude<Cut["by"], "setting">, string> = {
  window: "the window was full",
  worker: "the worker had no room for more",
  server: "the server behind this model stopped there",
  room: "there was no room for more",
};

/** The reason why an answer was cut. */
export function cutSentence({ given, asked, by }: Cut): string {
  if (by === "setting") return `The answer was cut at the length limit, after ${counted(given, "token")}.`;
  return `The answer was cut after ${counted(given, "token")} of ${count(asked)}: ${CUTS[by]}.`;
}

/** The number of requested tokens that the window leaves; null: all, or not known. */
export function numLeft({ accepted, context }: TraceView): number | null {
  if (!accepted || !context) return null;
  const left = context.window - context.num_prompt_tokens;
  return accepted.params.max_tokens > left ? left : null;
}

/** True when no text of the answer was ever released, the text that a fork took over included. */
export function isAllWithheld({ generations }: TraceView): boolean {
  const isNoText = generations.every(
    ({ forked, releases }) => !forked?.text && releases.every(({ text }) => !text),
  );
  return isNoText && generations.some(({ withheld }) => withheld !== null);
}

/** The words of a notice below an answer on its end. */
export interface Ending {
  outcome: Outcome;
  /** Null also where its events are not read. */
  withheld: TextWithheld | null;
  isAllWithheld: boolean;
  cut: Cut | null;
  /** An operator stopped it; false also where its events are not read. */
  isStoppedByOperator: boolean;
}

export function endOf(view: TraceView): Ending {
  const { withheld } = atLastGeneration(view);
  return {
    outcome: outcomeOf(view),
    withheld,
    isAllWithheld: isAllWithheld(view),
    cut: cutOf(view),
    isStoppedByOperator: view.cancelledBy === "operator",
  };
}

/** The part of an answer that the server keeps with its message, apart from the events. */
export interface SavedAnswer {
  text: string;
  /** Null: the message is a question. */
  status: "streaming" | "done" | "stopped" | "withheld" | "blocked" | "failed" | null;
  /** Null until the request is settled. */
  figures: {
    usage: Pick<Usage, "output"> | null;
    finish_reason: string | null;
    /** Most tokens that the request allowed. */
    max_tokens: number | null;
    /** When the first text was released, µs since acceptance. */
    first_text_us: number | null;
  } | null;
  /** The number of tokens that a fork began with; null: it is no fork. */
  num_kept: number | null;
}

/** The end by the figures saved with a message, whose events are not read. */
export function endOfMessage(message: SavedAnswer): Ending {
  const { num_kept, figures } = message;
  const outcome = outcomeOfMessage(message);
  // Its text does not tell: the policy's own words stand in it.
  const isAllWithheld = outcome === "withheld" && figures?.first_text_us === null && !num_kept;
  return { outcome, withheld: null, isAllWithheld, cut: cutOfMessage(message), isStoppedByOperator: false };
}

function outcomeOfMessage({ status, figures }: SavedAnswer): Outcome {
  if (status === null || status === "streaming") return "running";
  const reason = figures?.finish_reason;
  return status === "done" && (reason === "length" || reason === "repetition") ? reason : status;
}

function cutOfMessage(message: SavedAnswer): Cut | null {
  const { usage = null, max_tokens: asked = null } = message.figures ?? {};
  if (outcomeOfMessage(message) !== "length" || !usage || asked === null) return null;
  const given = usage.output + (message.num_kept ?? 0);
  return { given, asked, by: given >= asked ? "setting" : "room" };
}

/** The title of a failure's message. */
export function failureTitle(error: { stage: string; code: string }): string {
  return (
    (FAILURES as Record<string, string>)[error.code] ?? `${error.stage}: ${error.code.replaceAll("_", " ")}`
  );
}
