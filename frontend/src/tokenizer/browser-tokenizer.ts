/** The model's own tokenizer in the browser: counts typed text as the server will. */
import { Tokenizer } from "@huggingface/tokenizers";

interface TokenizerJson {
  added_tokens: { special: boolean }[];
}

export interface Counter {
  encode: (text: string) => number[];
}

/** Typed text never becomes a control token, so the control tokens are left out of the definition. */
export function buildCounter(definition: TokenizerJson): Counter {
  const added_tokens = definition.added_tokens.filter((token) => !token.special);
  const tokenizer = new Tokenizer({ ...definition, added_tokens }, {});
  return { encode: (text) => (text ? tokenizer.encode(text, { add_special_tokens: false }).ids : []) };
}

/** Counters by address, which has the tokenizer's version in it: all share one parsed tokenizer of a megabyte. */
const counters = new Map<string, Promise<Counter>>();

export function loadCounter(url: string): Promise<Counter> {
  let counter = counters.get(url);
  if (!counter) {
    counter = fetchCounter(url);
    counters.set(url, counter);
    // A failed download is tried again.
    counter.catch(() => counters.delete(url));
  }
  return counter;
}

async function fetchCounter(url: string): Promise<Counter> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`the tokenizer did not load (status ${response.status})`);
  return buildCounter((await response.json()) as TokenizerJson);
}
