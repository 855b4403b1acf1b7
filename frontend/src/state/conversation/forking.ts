/** The inspector's access to the answers beside a request's answer, and to forks. Only a page with a server has it. */
import { getContext, setContext } from "svelte";
import type { Refusal } from "./settings";
import type { Branch } from "../../layout/fork-tree";
import type { TokenSampled } from "../../protocol/events";
import { type TraceView } from "../../trace/view";
import type { Message } from "../../protocol/api";
import type { ForkPlace } from "../../transport/api";

export interface Answer extends Branch {
  text: string;
  status: Message["status"];
}

export interface Forking {
  /** All answers to this request's question, the oldest first. */
  answers: (requestId: string) => Answer[];
  show: (requestId: string) => void;
  /** The reason why no fork of the request is possible; empty: one is. */
  refusal: (requestId: string) => string;
  /** Begin a new answer and show it; null: it has begun. */
  fork: (requestId: string, place: ForkPlace, keydownAt: number) => Promise<Refusal | null>;
}

export const FORKING = Symbol("forking");

export function offerForking(forking: Forking): void {
  setContext(FORKING, forking);
}

/** Null where there is no server, as in an exported page. */
export function getForking(): Forking | null {
  return getContext<Forking | undefined>(FORKING) ?? null;
}

/** The reason why no fork at this token, or with this candidate in its place, is possible; empty: one is. */
export function whyNoFork(
  forking: Forking,
  requestId: string,
  whole: TraceView,
  token: TokenSampled,
  candidate?: number,
): string {
  const general = forking.refusal(requestId);
  if (general) return general;
  if (whole.tokens.some(({ position, is_shown }) => position < token.position && !is_shown))
    return "Not all tokens before this one are recorded.";
  if (candidate === undefined) return "";
  if (!token.candidate_pieces[candidate]) return "This is a control token: no answer continues after it.";
  const id = token.candidate_ids[candidate]!;
  const isMasked = token.processors?.some(({ name, masked }) => name === "grammar" && masked.includes(id));
  return isMasked ? "The form of the answer does not allow this token." : "";
}

/**
 * A conversation's answers to the same question as this request's, its own included.
 *
 * countOf: number of an answer's tokens; null where its trace is not on the page.
 */
export function answersBeside(
  messages: Message[],
  requestId: string,
  countOf: (requestId: string) => number | null = () => null,
): Answer[] {
  const own = messages.find((message) => message.request_id === requestId);
  if (!own) return [];
  const beside = messages.filter((each) => each.parent_id === own.parent_id && each.request_id !== null);
  const numTokens = ({ figures, num_kept }: Message): number | null =>
    figures?.usage ? (num_kept ?? 0) + figures.usage.output : null;
  return beside.map((message) => ({
    requestId: message.request_id!,
    forkedFrom: message.forked_from,
    position: message.fork_position,
    numTokens: countOf(message.request_id!) ?? numTokens(message),
    text: message.text,
    status: message.status,
  }));
}
