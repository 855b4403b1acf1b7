/** The tokens and the cost of each tool's definition in a prompt, and what leaving it out would save. */
import type { Segment } from "../../protocol/events";
import { decodeBase64 } from "../bytes";
import { nameIn } from "../definitions";
import type { TraceView } from "../view";
import { costsOf, unitsOf, type CostOf } from "./prices";

/** A stretch of the prompt's tokens. A token belongs to the line in which it begins. */
interface Line {
  bytes: number[];
  start: number;
  end: number;
  /** The line's first characters are in a token that begins in the line before. */
  isSplit: boolean;
}

/** Tokens that this request found in the cache, and that the first request without the definition reads again. */
export interface Again {
  numTokens: number;
  /** Their price as new input, less their price here; null: the bill lacks one of both. */
  nano: number | null;
}

/** Null is not known. */
export interface Part {
  numTokens: number;
  numCached: number | null;
  nano: number | null;
}

export interface ToolCost extends Part {
  name: string;
  start: number;
  end: number;
  isSplit: boolean;
  again: Again | null;
}

export interface ToolCosts {
  tools: ToolCost[];
  /** The rest of the segment: the words around the definitions. */
  frame: Part;
}

/** Null: the segment declares no tool, or its tokens are not known. */
export function toolCosts(view: TraceView, { kind, start, end }: Segment): ToolCosts | null {
  if (kind !== "tools" || !view.prompt) return null;
  const cost = costsOf(view);
  const tools = linesOf(view.prompt.pieces, start, end).flatMap((line) => toolIn(view, cost, line) ?? []);
  return tools.length ? { tools, frame: restOf(partOf(view, cost, start, end), tools) } : null;
}

const NEW_LINE = 10;

function linesOf(pieces: string[], start: number, end: number): Line[] {
  const lines: Line[] = [{ bytes: [], start, end: start, isSplit: false }];
  for (let place = start; place < end; place++) {
    lines.at(-1)!.end = place + 1;
    for (const byte of decodeBase64(pieces[place]!)) {
      const line = lines.at(-1)!;
      if (byte === NEW_LINE) lines.push({ bytes: [], start: place + 1, end: place + 1, isSplit: false });
      else {
        line.bytes.push(byte);
        line.isSplit ||= place < line.start;
      }
    }
  }
  return lines;
}

function toolIn(view: TraceView, cost: CostOf | null, { bytes, start, end, isSplit }: Line): ToolCost | null {
  const name = nameIn(new TextDecoder().decode(Uint8Array.from(bytes)));
  if (name === null) return null;
  return {
    name,
    start,
    end,
    isSplit,
    ...partOf(view, cost, start, end),
    again: againOf(view, start, end),
  };
}

function partOf(view: TraceView, cost: CostOf | null, start: number, end: number): Part {
  return {
    numTokens: end - start,
    numCached: view.cache && Math.max(0, Math.min(end, view.cache.num_cached_tokens) - start),
    nano: cost?.(start, end) ?? null,
  };
}

function restOf(whole: Part, tools: Part[]): Part {
  const less = (key: keyof Part) =>
    whole[key] === null ? null : tools.reduce((left, each) => left - each[key]!, whole[key]);
  return { numTokens: less("numTokens")!, numCached: less("numCached"), nano: less("nano") };
}

/** The cache finds whole blocks up to the first other token; what this request found behind them is read again. */
function againOf({ cache, prompt, bill }: TraceView, start: number, end: number): Again | null {
  if (!cache) return null;
  const { num_cached_tokens: numCached, block_size: size } = cache;
  let first = start;
  while (first + end - start < prompt!.ids.length && prompt!.ids[first] === prompt!.ids[first + end - start])
    first++;
  const numFound = numCached <= first ? numCached : Math.floor(first / size) * size;
  const numLeft = numCached - Math.max(0, Math.min(end, numCached) - start);
  const numTokens = Math.max(0, numLeft - numFound);
  const units = bill && unitsOf(bill);
  const [full, read] = [units?.get("uncached_input"), units?.get("cache_read")];
  const isKnown = full !== undefined && read !== undefined && !cache.marks?.length;
  return { numTokens, nano: isKnown ? numTokens * (full - read) : null };
}
