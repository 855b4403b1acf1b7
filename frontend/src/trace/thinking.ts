/** What a request's model thought before its answers, from its events. */
import type { Message } from "../protocol/api";
import type { TraceView } from "./view";

type Saved = NonNullable<Message["thinking"]>;

/** The thinking so far. `isOpen`: it goes on. */
export interface Thought {
  text: string;
  numTokens: number;
  /** Until now, or until its end. */
  durationUs: number;
  cause: Saved["cause"] | null;
  isOpen: boolean;
}

/** Sums over all generations, as the request's row has them; null: there was none. */
export function thoughtOf(view: TraceView): Thought | null {
  const found = view.generations.filter(({ numThinking, thinkingEnded }) => numThinking || thinkingEnded);
  const last = found.at(-1);
  if (!last) return null;
  const open = last.thinkingEnded ? 0 : view.at - (last.tokens[0]?.at ?? view.at);
  return {
    text: found.map(({ thinking }) => thinking).join(""),
    numTokens: sum(found.map(({ thinkingEnded, numThinking }) => thinkingEnded?.num_tokens ?? numThinking)),
    durationUs: open + sum(found.map(({ thinkingEnded }) => thinkingEnded?.duration_us ?? 0)),
    cause: last.thinkingEnded?.cause ?? null,
    isOpen: !last.thinkingEnded && last.generation === null,
  };
}

/** The thinking that is saved with a message. */
export function savedThought(saved: Saved | null): Thought | null {
  return saved && { ...saved, numTokens: saved.num_tokens, durationUs: saved.duration_us, isOpen: false };
}

/** True: the user has asked for the answer, and the thinking has not ended yet. */
export function isAnswerAsked({ answerAskedAt, thinkingEnded }: TraceView): boolean {
  return answerAskedAt !== null && thinkingEnded === null;
}

const sum = (numbers: number[]) => numbers.reduce((total, each) => total + each, 0);
