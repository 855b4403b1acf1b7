/** The request's blocks of keys and values at one moment: each block's origin and content. */
import type { CacheShape } from "../../protocol/events";
import { numRead, type TraceView } from "../view";

/** taken: all of it was in the cache; partly: its beginning was; computed: by this request; waiting: not yet. */
export type Origin = "taken" | "partly" | "computed" | "waiting";

export interface Block {
  /** Its place in the request's block table. */
  index: number;
  /** Its first token, as an index into prompt and answer together, and one past its last that is known. */
  first: number;
  end: number;
  origin: Origin;
  /** Share of its room that is computed, 0 to 1. */
  filled: number;
  /** True when it holds tokens of the answer. */
  isAnswer: boolean;
  /** Sequences that had it in their tables at the look-up; null: not recorded, or not taken over. */
  numOwners: number | null;
  /** True when later requests can find it. */
  isStored: boolean;
}

/** Return the blocks; empty before the lookup. */
export function blocksOf(view: TraceView): Block[] {
  const { cache, prompt } = view;
  if (!cache || !prompt) return [];
  const size = cache.block_size;
  const numPrompt = prompt.ids.length;
  const numTokens = numRead(view) + view.tokens.length;
  const numComputed = computedTokens(view);
  const stored = new Set<number>();
  for (const event of view.stored) event.indices?.forEach((index) => stored.add(index));
  return Array.from({ length: Math.ceil(numTokens / size) }, (_, index) => {
    const first = index * size;
    const end = Math.min(first + size, numTokens);
    return {
      index,
      first,
      end,
      origin: originOf(first, first + size, cache.num_cached_tokens, numComputed),
      filled: Math.min(1, Math.max(0, (numComputed - first) / size)),
      isAnswer: end > numPrompt,
      numOwners: cache.num_owners?.[index] ?? null,
      isStored: stored.has(index) || (cache.num_cached_tokens >= first + size && cache.num_owners !== null),
    };
  });
}

function originOf(first: number, end: number, numCached: number, numComputed: number): Origin {
  if (end <= numCached) return "taken";
  if (first < numCached) return "partly";
  return first < numComputed ? "computed" : "waiting";
}

/** Tokens whose keys and values are there. The newest token's are computed with the token that follows it. */
export function computedTokens(view: TraceView): number {
  const found = view.cache?.num_cached_tokens ?? 0;
  const read = Math.max(found, ...view.prefill.map((chunk) => chunk.end));
  return view.tokens.length ? Math.max(read, numRead(view) + view.tokens.length - 1) : read;
}

/** Blocks that a look-up can give: the last token is computed in any case. */
export function usefulBlocks(view: TraceView): number {
  return Math.floor((numRead(view) - 1) / view.cache!.block_size);
}

export interface Memory {
  /** Keys and values of one token in one layer, bytes. */
  perTokenAndLayer: number;
  perToken: number;
  perBlock: number;
  /** Bytes of this request's blocks. */
  own: number;
  /** Bytes of the same blocks with a key/value head for every query head. */
  ungrouped: number;
  /** Bytes of the worker's whole cache. */
  whole: number;
}

export function memoryOf(shape: CacheShape, numBlocks: number): Memory {
  const perTokenAndLayer = 2 * shape.num_kv_heads * shape.head_dim * shape.bytes_per_value;
  const perToken = perTokenAndLayer * shape.num_layers;
  const perBlock = perToken * shape.block_size;
  const own = perBlock * numBlocks;
  return {
    perTokenAndLayer,
    perToken,
    perBlock,
    own,
    ungrouped: own * (shape.num_heads / shape.num_kv_heads),
    whole: perBlock * shape.num_blocks,
  };
}
