/** A request with tools as rounds: each asks the model once, and between two of them calls run. Pure. */
import { decodeBase64 } from "../../trace/bytes";
import type { Generation } from "../../trace/generations";
import { nameOf } from "../../trace/token-name";
import { madeCalls, type MadeCall, type TraceView } from "../../trace/view";
import type { ToolFinished } from "../../protocol/events";

/** Tokens at which a grammar left one choice, and all at which it cut. */
export interface Masked {
  numForced: number;
  num: number;
}

/** The stretch of the prompt that defines the tools. */
export interface Definition {
  text: string;
  numTokens: number;
}

export interface WrittenToken {
  position: number;
  name: string;
  /** Tokens that the grammar left; null: it removed none. */
  numAllowed: number | null;
}

export interface Call extends MadeCall {
  result: ToolFinished | null;
}

/** The next round's prompt: the one before, its answer and the results. */
export interface Resumption {
  numPrompt: number;
  /** Null: the cache has not been asked yet. */
  numCached: number | null;
  /** Tokens of the prompt and the answer before, which the model has read or written already. */
  numKnown: number;
  /** From the end of the round before until the model went on, µs; null: it has not. */
  pauseUs: number | null;
}

export function definitionOf({ generations }: TraceView): Definition | null {
  const { context, prompt } = generations[0]!;
  const segments = context?.segments.filter(({ kind }) => kind === "tools") ?? [];
  if (!prompt || !segments.length) return null;
  const pieces = segments.flatMap(({ start, end }) => prompt.pieces.slice(start, end));
  const bytes = pieces.flatMap((piece) => [...decodeBase64(piece)]);
  return { text: new TextDecoder().decode(Uint8Array.from(bytes)).trim(), numTokens: pieces.length };
}

export function writtenIn({ tokens, masks }: Generation): WrittenToken[] {
  const left = new Map(masks.map(({ position, num_allowed }) => [position, num_allowed]));
  return tokens.map((token) => ({
    position: token.position,
    name: nameOf(token),
    numAllowed: left.get(token.position) ?? null,
  }));
}

export function maskedIn({ masks }: Generation): Masked {
  return { numForced: masks.filter(({ num_allowed }) => num_allowed === 1).length, num: masks.length };
}

/** The calls that a round made, with their results. Their ids say which. */
export function callsIn(view: TraceView, { toolResults }: Generation, ids: ReadonlySet<string>): Call[] {
  const results = new Map(toolResults.map((each) => [each.call_id, each]));
  return madeCalls(view)
    .filter(({ call_id }) => ids.has(call_id))
    .map((call) => ({ ...call, result: results.get(call.call_id) ?? null }));
}

/** Ids of the calls of one round. */
export function idsIn({ toolCalls, approvals }: Generation): Set<string> {
  return new Set([...approvals, ...toolCalls].map(({ call_id }) => call_id));
}

/** The step from one round to the next; null: there is none yet. */
export function resumptionOf(before: Generation, after: Generation | undefined): Resumption | null {
  if (!after?.prompt || !before.prompt) return null;
  const end = before.generation?.at ?? before.tokens.at(-1)?.at ?? null;
  return {
    numPrompt: after.prompt.ids.length,
    numCached: after.cache?.num_cached_tokens ?? null,
    numKnown: before.prompt.ids.length + before.tokens.length,
    pauseUs: after.started && end !== null ? Math.max(0, after.started.at - end) : null,
  };
}
