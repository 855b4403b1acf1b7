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
} as const satisfies Record<string, Term>;

export type TermId = keyof typeof TERMS;
