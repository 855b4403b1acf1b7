/** What the inspector's words mean, in one sentence each, and the exhibit under /learn that teaches them. */

export interface Term {
  sentence: string;
  exhibit: Exhibit | null;
}

/** The last part of an exhibit's address. */
export type Exhibit =
  | "tokenizer"
  | "context"
  | "sampling"
  | "cache"
  | "batching"
  | "prefill"
  | "streaming"
  | "economics"
  | "safety";

export const TERMS = {
  token: {
    sentence: "A piece of text the model reads or writes as one: often a word with the space before it.",
    exhibit: "tokenizer",
  },
  window: {
    sentence: "The most tokens the model can look at in one request, prompt and answer together.",
    exhibit: "context",
  },
  promptTokens: {
    sentence: "What the model reads before it writes: system prompt, history and message, as tokens.",
    exhibit: "context",
  },
  cachedTokens: {
    sentence:
      "Tokens of the prompt whose keys and values an earlier request had left, so that nothing was computed.",
    exhibit: "cache",
  },
  savedTime: {
    sentence:
      "What computing the cached tokens would have taken, at the speed this engine measured on prompts.",
    exhibit: "cache",
  },
  block: {
    sentence:
      "A fixed run of tokens whose keys and values lie together; blocks, not tokens, are kept, shared and evicted.",
    exhibit: "cache",
  },
  owners: {
    sentence:
      "Requests that have the block in their tables at once; a block is free for others when there are none.",
    exhibit: "cache",
  },
  evictionOrder: {
    sentence: "Blocks nobody uses stay until room is needed; then the least recently used goes first.",
    exhibit: "cache",
  },
  timeToLive: {
    sentence: "How long a block is kept after its last use; without one it stays until its room is needed.",
    exhibit: "cache",
  },
  keysAndValues: {
    sentence: "Two lists of numbers per token, layer and head that every later token looks back at.",
    exhibit: "cache",
  },
  groupedQueries: {
    sentence:
      "Several query heads share one key/value head, so that a token needs only a part of the memory.",
    exhibit: "cache",
  },
} as const satisfies Record<string, Term>;

export type TermId = keyof typeof TERMS;
