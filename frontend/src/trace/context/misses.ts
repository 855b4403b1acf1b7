/** The reason for the prompt's cache misses: found by comparing with the turn before, or reported as not known. */
import type { ContextCompared, Segment } from "../../protocol/events";
import { decodeBase64 } from "../bytes";
import { counted } from "../format";
import { usefulBlocks } from "./blocks";
import { isOfProgram, numRead, type TraceView } from "../view";

export type Cause =
  /** Nothing was missed. */
  | "none"
  | "short"
  | "first-turn"
  | "other-model"
  | "empty"
  | "expired"
  | "evicted"
  | "never-stored"
  | "new-text"
  | "time-stamp"
  | "system-prompt"
  | "trimmed"
  | "summarised"
  | "answer-retokenized"
  | "edited"
  | "unknown";

export interface Miss {
  cause: Cause;
  sentence: string;
  /** The first token that is another than before, as an index into the prompt; null: there is none, or it is not known. */
  position: number | null;
  segment: Segment | null;
}

/** Null before the look-up. */
export function missOf(view: TraceView): Miss | null {
  const { cache, prompt, compared } = view;
  if (!cache || !prompt) return null;
  const numUseful = usefulBlocks(view);
  const numHits = Math.floor(cache.num_cached_tokens / cache.block_size);
  const because = (cause: Cause, sentence: string, position: number | null = null): Miss => ({
    cause,
    sentence,
    position,
    segment: position === null ? null : segmentAt(view, position),
  });
  if (numUseful === 0)
    return because(
      "short",
      `The prompt has ${counted(prompt.ids.length, "token")}, less than one block of ${cache.block_size} and the last token. The cache keeps only whole blocks, and the model always computes the last token.`,
    );
  if (numHits >= numUseful || cache.num_cached_tokens >= numRead(view) - 1)
    return because("none", "The request took everything from the cache that it could.");
  if (!compared && isFirstTurn(view) && !isGone(view)) return because("first-turn", firstTurn(numHits));
  if (cache.was_empty)
    return because(
      "empty",
      "The cache was empty: this worker had computed nothing yet that a request could reuse.",
    );
  if (!compared) return because(...withoutComparison(view));
  if (compared.model !== (view.accepted?.model ?? compared.model))
    return because(
      "other-model",
      `${compared.model} answered the turn before. A model cannot use the keys and values of another.`,
    );
  const numCommon = compared.num_common_tokens;
  // The keys and values of the last token before are computed only with a token that follows it.
  const numBefore = compared.num_prompt_tokens + compared.num_answer_tokens;
  const numWhole = Math.floor(Math.min(numCommon, numBefore - 1) / cache.block_size);
  if (numHits < Math.min(numWhole, numUseful)) return because(...goneSince(view));
  if (numCommon >= numBefore)
    return because(
      "new-text",
      `The prompt continues where the turn before ended, after ${counted(numBefore, "token")}. The text after that is new. The cache keeps only whole blocks of ${cache.block_size}.`,
      numCommon < prompt.ids.length ? numCommon : null,
    );
  return because(...differing(view, compared), numCommon);
}

/** True when no turn of the chat came before its message: the prompt has none, and none was left out. */
export function isFirstMessage({ context }: TraceView): boolean {
  const kinds = context?.segments.map(({ kind }) => kind) ?? [];
  const isOnly = !kinds.includes("history") && !kinds.includes("summary");
  return kinds.includes("user") && isOnly && !context!.dropped.length;
}

/** Nor has the message been answered before. */
function isFirstTurn(view: TraceView): boolean {
  return (
    view.generationNumber === 0 &&
    !isOfProgram(view) &&
    isFirstMessage(view) &&
    !view.forked &&
    !view.accepted?.replay_of
  );
}

function firstTurn(numHits: number): string {
  return numHits
    ? "First message of this chat: only the beginning that it shares with earlier requests can be reused."
    : "First message of this chat: nothing to reuse yet.";
}

/** The engine knows that the block had been there. */
function isGone({ cache }: TraceView): boolean {
  return cache!.absence === "expired" || cache!.absence === "evicted";
}

/** The engine's own reason for the first block that it did not find. */
function withoutComparison(view: TraceView): [Cause, string] {
  const { cache } = view;
  if (cache!.absence === "expired")
    return ["expired", "The cache had kept the first missing block, but its time to live ran out."];
  if (cache!.absence === "evicted")
    return [
      "evicted",
      "The cache had kept the first missing block, but evicted it to make room for other requests.",
    ];
  if (cache!.absence === "never") return ["never-stored", "This worker never kept the first missing block."];
  if (isOfProgram(view))
    return ["unknown", "The reason is not known: a program's call is compared only in a recording."];
  return [
    "unknown",
    "The reason is not known: the trace has no turn before this one to compare with. The server compares them when the request has ended.",
  ];
}

/** The text was the same, and yet the block was not there. */
function goneSince({ cache }: TraceView): [Cause, string] {
  const same = "The text is the same as in the turn before, but its block was not in the cache: ";
  if (cache!.absence === "expired") return ["expired", `${same}its time to live had run out.`];
  if (cache!.absence === "evicted")
    return ["evicted", `${same}it was evicted to make room for other requests.`];
  if (cache!.absence === "never")
    return [
      "never-stored",
      "The text is the same as in the turn before, but this worker never kept its block. The worker started later, another worker answered, or that turn stopped before its computation.",
    ];
  return [
    "unknown",
    `${same}the reason is not known. The worker evicted it too long ago to remember, or never kept it.`,
  ];
}

function differing(view: TraceView, compared: ContextCompared): [Cause, string] {
  const position = compared.num_common_tokens;
  const where = `Token ${(position + 1).toLocaleString("en-US")}`;
  if (position >= compared.num_prompt_tokens)
    return [
      "answer-retokenized",
      `${where} is the first difference, inside the answer of the turn before. Read back as text, the answer gave other tokens, or it was changed or cut.`,
    ];
  if (isNumber(compared))
    return [
      "time-stamp",
      `${where} is the first difference: a number changed, as in a date or a time of day. The model computes everything after it again.`,
    ];
  const segment = segmentAt(view, position);
  if (segment?.kind === "system")
    return ["system-prompt", `${where} is the first difference: the system prompt changed.`];
  if (segment?.kind === "summary")
    return [
      "summarised",
      `${where} is the first difference: a summary of older messages stands there, so the text after it moved.`,
    ];
  if (compared.removed.length)
    return [
      view.context?.dropped.length ? "trimmed" : "edited",
      `${where} is the first difference: ${counted(compared.removed.length, "earlier message")} ${compared.removed.length === 1 ? "is" : "are"} no longer in the prompt (${compared.removed[0]!.reason}), so the text after moved.`,
    ];
  return ["edited", `${where} is the first difference${segment ? `, in the ${segment.kind} segment` : ""}.`];
}

/** A trace from before it was recorded has the tokens of both sides instead. */
function isNumber({ is_number, here, there }: ContextCompared): boolean {
  const begins = (piece: string | undefined) =>
    piece !== undefined && /^\s*\d/.test(new TextDecoder().decode(decodeBase64(piece)));
  return is_number ?? (begins(here[0]) && begins(there[0]));
}

export function segmentAt(view: TraceView, position: number): Segment | null {
  return view.context?.segments.find(({ start, end }) => position >= start && position < end) ?? null;
}
