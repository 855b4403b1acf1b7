/** The rules of thumb, held against the request's own texts. */
import { counted } from "../../trace/format";
import { messageOf } from "../../trace/context/reading";
import type { TraceView } from "../../trace/view";
import { line, missing, type Narration } from "../own/reading-clock";
import { charsPerToken, sizesOf, tokensPerWord, type Sizes } from "./rules";

/** Sizes of the message and of the answer; null: the trace does not have its text, or nothing was written. */
export function ownSizes(view: TraceView): { message: Sizes | null; answer: Sizes | null } {
  const segment = view.context?.segments.findLast(({ kind }) => kind === "user");
  const message = messageOf(view);
  const isKnown = segment !== undefined && message !== null && message !== "";
  return {
    message: isKnown ? sizesOf(message, segment.end - segment.start) : null,
    answer: view.text && view.tokens.length ? sizesOf(view.text, view.tokens.length) : null,
  };
}

export const narrateRules: Narration = (view) => {
  const { message, answer } = ownSizes(view);
  const { context, tokens } = view;
  const lines = [];
  if (message && context)
    lines.push(line(told("Your message", message), context.at - context.duration_us, context.at));
  const [first, last] = [tokens[0], tokens.at(-1)];
  if (answer && first && last) lines.push(line(told("The answer", answer), first.at, last.at));
  if (!lines.length) return missing(view, "a text");
  return [...lines, line("The rules say 4 characters to a token, and 1.3 tokens to a word.", 0, view.at)];
};

function told(what: string, sizes: Sizes): string {
  return `${what}: ${counted(sizes.numWords, "word")} in ${counted(sizes.numTokens, "token")}, ${charsPerToken(sizes).toFixed(1)} characters to a token and ${tokensPerWord(sizes).toFixed(1)} tokens to a word.`;
}
