/** The known facts of a request at one moment: the events so far, sorted by subject. */
import type {
  AnyEvent,
  BatchComposed,
  BillPosted,
  CacheEvicted,
  CacheLookedUp,
  CacheStored,
  ClientTiming,
  ContextAssembled,
  ContextCompared,
  GatewayChecked,
  GenerationFinished,
  GenerationForked,
  GenerationInterrupted,
  GenerationPreempted,
  GenerationQueued,
  GenerationStarted,
  GrammarMasked,
  PrefillAdvanced,
  PromptTokenized,
  RequestAccepted,
  RequestFailed,
  RequestFinished,
  SafetyChecked,
  TextReleased,
  TextWithheld,
  TokenSampled,
  ToolCalled,
  ToolFinished,
} from "../protocol/events";
import { decodeBase64 } from "./bytes";
import type { Drafts } from "./drafts";

export interface NumberedEvent {
  seq: number;
  /** Its time, µs since acceptance. */
  at: number;
  event: AnyEvent;
}

/** A time in which nothing was computed, since a person was to choose; µs since acceptance. */
export interface Choice {
  start: number;
  end: number;
}

export interface TraceView {
  /** The latest time heard of, µs since acceptance. */
  at: number;
  events: NumberedEvent[];
  accepted: RequestAccepted | null;
  gateway: GatewayChecked | null;
  inputCheck: SafetyChecked | null;
  context: ContextAssembled | null;
  /** The prompt beside that of the turn before. */
  compared: ContextCompared | null;
  prompt: PromptTokenized | null;
  /** The part of another answer that this one took over, before the first token sampled here. */
  forked: GenerationForked | null;
  queued: GenerationQueued | null;
  started: GenerationStarted | null;
  cache: CacheLookedUp | null;
  stored: CacheStored[];
  evicted: CacheEvicted[];
  /** Each time that it was said how many are in front. */
  waits: GenerationQueued[];
  preemptions: GenerationPreempted[];
  /** Ends of attempts before the answer's. */
  interruptions: GenerationInterrupted[];
  batches: BatchComposed[];
  prefill: PrefillAdvanced[];
  tokens: TokenSampled[];
  /** Step mode: the token that waits to be chosen. */
  proposed: TokenSampled | null;
  /** Since when it waits, µs since acceptance. */
  proposedAt: number | null;
  /** Step mode: from each proposal to the choice. */
  choices: Choice[];
  /** True when a token was ever proposed. */
  isStepped: boolean;
  drafts: Drafts;
  masks: GrammarMasked[];
  outputChecks: SafetyChecked[];
  releases: TextReleased[];
  withheld: TextWithheld | null;
  text: string;
  toolCalls: ToolCalled[];
  toolResults: ToolFinished[];
  cancelledAt: number | null;
  /** `user`, or the other cause of the stop. */
  cancelledBy: string;
  generation: GenerationFinished | null;
  bill: BillPosted | null;
  finished: RequestFinished | null;
  failed: RequestFailed | null;
  client: ClientTiming | null;
}

export function emptyView(): TraceView {
  return {
    at: 0,
    events: [],
    accepted: null,
    gateway: null,
    inputCheck: null,
    context: null,
    compared: null,
    prompt: null,
    forked: null,
    queued: null,
    started: null,
    cache: null,
    stored: [],
    evicted: [],
    waits: [],
    preemptions: [],
    interruptions: [],
    batches: [],
    prefill: [],
    tokens: [],
    proposed: null,
    proposedAt: null,
    choices: [],
    isStepped: false,
    drafts: { guesses: new Map(), passes: new Map() },
    masks: [],
    outputChecks: [],
    releases: [],
    withheld: null,
    text: "",
    toolCalls: [],
    toolResults: [],
    cancelledAt: null,
    cancelledBy: "",
    generation: null,
    bill: null,
    finished: null,
    failed: null,
    client: null,
  };
}

export function isOver(view: TraceView): boolean {
  return view.finished !== null || view.failed !== null;
}

/** The time between two moments that a person took to choose; a wait still open does not count. */
export function waitedForChoice({ choices }: TraceView, start: number, end: number): number {
  return choices.reduce(
    (sum, choice) => sum + Math.max(0, Math.min(choice.end, end) - Math.max(choice.start, start)),
    0,
  );
}

/** The server's time until a moment, µs: without a person's time to choose tokens. */
export function tookUntil(view: TraceView, at: number): number {
  return at - waitedForChoice(view, 0, at);
}

/** When the first text was released, so counted, as the library has it; null: there is none. */
export function firstTextUs(view: TraceView): number | null {
  const first = view.releases[0];
  return first ? tookUntil(view, first.at) : null;
}

/** Tokens of the answer that a fork took over: the positions of those sampled go on after them. */
export function numKept(view: TraceView): number {
  return view.forked?.ids.length ?? 0;
}

/** Tokens that the model reads before it writes: the prompt, and the answer that a fork took over. */
export function numRead(view: TraceView): number {
  return (view.prompt?.ids.length ?? 0) + numKept(view);
}

export interface AnswerPiece {
  position: number;
  /** base64 */
  piece: string;
}

/** The text of the tokens before a position, as far as the characters are whole. */
export function textBefore(view: TraceView, position: number): string {
  const decoder = new TextDecoder();
  return answerPieces(view)
    .filter((each) => each.position < position)
    .map(({ piece }) => decoder.decode(decodeBase64(piece), { stream: true }))
    .join("");
}

/** All tokens of the answer, those that were taken over first. */
export function answerPieces({ forked, tokens }: TraceView): AnswerPiece[] {
  return [...(forked?.pieces ?? []).map((piece, position) => ({ position, piece })), ...tokens];
}
