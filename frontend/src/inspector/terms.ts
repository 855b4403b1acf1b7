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
  step: {
    sentence:
      "One pass of the model for all running requests together: a token for each that writes, and chunks of prompts.",
    exhibit: "batching",
  },
  company: {
    sentence: "Other requests whose tokens were computed in the same step; who they are is not recorded.",
    exhibit: "batching",
  },
  prefill: {
    sentence: "Reading the prompt, many tokens in one step; it takes computing power, not memory bandwidth.",
    exhibit: "prefill",
  },
  decode: {
    sentence:
      "Writing the answer, one token in one step (more where guesses are accepted); memory bandwidth sets its pace.",
    exhibit: "prefill",
  },
  queue: {
    sentence:
      "Requests that wait until the engine has room: for one more in its batch, and for their blocks.",
    exhibit: "batching",
  },
  preemption: {
    sentence:
      "When blocks run out, a running request gives up its own and waits; what it has written is computed again.",
    exhibit: "batching",
  },
  gate: {
    sentence:
      "Who asks, whether a limit is used up, and whether the message is safe, before anything is computed.",
    exhibit: "safety",
  },
  draw: {
    sentence:
      "The model gives every token a probability, the sampler cuts and reshapes them, and one random number picks.",
    exhibit: "sampling",
  },
  release: {
    sentence:
      "Text leaves the worker when its characters are whole and the output check has passed it; until then it is held.",
    exhibit: "streaming",
  },
  bill: {
    sentence: "Tokens of each kind times their price; tokens from the cache cost less than computed ones.",
    exhibit: "economics",
  },
  reserved: {
    sentence:
      "Kept free in the window for the answer; what does not fit beside it is left out, oldest turns first.",
    exhibit: "context",
  },
  turnBefore: {
    sentence: "The newest request of the same conversation that had ended when this one was sent.",
    exhibit: "context",
  },
  utf8: {
    sentence: "Text travels as UTF-8: one to four bytes a character; a token may hold a part of one.",
    exhibit: "streaming",
  },
  heldBytes: {
    sentence: "Bytes of a character that is not whole yet: nobody can show half a character, so they wait.",
    exhibit: "streaming",
  },
  release: {
    sentence: "From a token's draw to the moment its text left the worker: the output check reads it first.",
    exhibit: "safety",
  },
  frame: {
    sentence: "What travels at once: the events of one append to the request's log.",
    exhibit: "streaming",
  },
  httpVersion: {
    sentence:
      "The protocol of the connection; a proxy in between may speak one to the page and another to the server.",
    exhibit: "streaming",
  },
  connection: {
    sentence: "What opening the connection took; a connection that was open already takes none.",
    exhibit: "streaming",
  },
  clockOffset: {
    sentence:
      "How far the server's clock is ahead of the page's, estimated from the POST's four times, as NTP does.",
    exhibit: "streaming",
  },
  serverTiming: {
    sentence:
      "A header in which the server tells how long each part of its answer took; DevTools shows it too.",
    exhibit: "streaming",
  },
} as const satisfies Record<string, Term>;

export type TermId = keyof typeof TERMS;
