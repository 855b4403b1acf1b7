/** The known facts of a request at one moment: the events so far, sorted by subject. */
import type {
  AnyEvent,
  AttachmentSelected,
  BillPosted,
  ClientTiming,
  EmbeddingComputed,
  EmbeddingTokenized,
  GatewayChecked,
  MemoryRecalled,
  RequestAccepted,
  RequestFailed,
  RequestFinished,
  SafetyChecked,
  TextReleased,
  TokenSampled,
  ToolApprovalAsked,
  ToolApproved,
  ToolCalled,
  ToolDeclined,
  ToolFinished,
  Usage,
} from "../protocol/events";
import { decodeBase64 } from "./bytes";
import { emptyGeneration, type Generation } from "./generations";

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

/** The facts of the whole request. */
export interface RequestFacts {
  /** The latest time heard of, µs since acceptance. */
  at: number;
  events: NumberedEvent[];
  accepted: RequestAccepted | null;
  gateway: GatewayChecked | null;
  inputCheck: SafetyChecked | null;
  /** The search of the user's memories; null: there was none. */
  recalled: MemoryRecalled | null;
  memoryChecks: SafetyChecked[];
  /** The choice of passages from attached files; null: there is no file. */
  attached: AttachmentSelected | null;
  /** The checks of attached files, in order. */
  fileChecks: SafetyChecked[];
  /** The texts of an embedding; null: this is none, or it failed before they were tokens. */
  embeddedTexts: EmbeddingTokenized | null;
  embedding: EmbeddingComputed | null;
  /** In order; at least one, which may be empty. */
  generations: Generation[];
  /** Step mode: the token that waits to be chosen. */
  proposed: TokenSampled | null;
  /** Since when it waits, µs since acceptance. */
  proposedAt: number | null;
  /** Step mode: from each proposal to the choice. */
  choices: Choice[];
  /** True when a token was ever proposed. */
  isStepped: boolean;
  cancelledAt: number | null;
  /** `user`, or the other cause of the stop. */
  cancelledBy: string;
  bill: BillPosted | null;
  finished: RequestFinished | null;
  failed: RequestFailed | null;
  client: ClientTiming | null;
}

/** A request, seen at one of its generations: the last one, or another that a reader has chosen. */
export interface TraceView extends RequestFacts, Generation {}

export function emptyView(): TraceView {
  const generation = emptyGeneration(0);
  return {
    at: 0,
    events: [],
    accepted: null,
    gateway: null,
    inputCheck: null,
    recalled: null,
    memoryChecks: [],
    attached: null,
    fileChecks: [],
    embeddedTexts: null,
    embedding: null,
    generations: [generation],
    proposed: null,
    proposedAt: null,
    choices: [],
    isStepped: false,
    cancelledAt: null,
    cancelledBy: "",
    bill: null,
    finished: null,
    failed: null,
    client: null,
    ...generation,
  };
}

/** The request at one generation; null, or one that has not begun: at the last. */
export function atGeneration(view: TraceView, number: number | null): TraceView {
  const found = view.generations.find(({ generationNumber }) => generationNumber === number);
  const shown = found ?? view.generations.at(-1)!;
  return shown.generationNumber === view.generationNumber ? view : { ...view, ...shown };
}

export function isAtLastGeneration({ generationNumber, generations }: TraceView): boolean {
  return generationNumber === generations.at(-1)!.generationNumber;
}

export const atLastGeneration = (view: TraceView): TraceView => atGeneration(view, null);

/** The request at each of its generations. */
export function eachGeneration(view: TraceView): TraceView[] {
  return view.generations.map(({ generationNumber }) => atGeneration(view, generationNumber));
}

/** The released texts of all generations, in order. */
export function allReleases({ generations }: TraceView): TextReleased[] {
  return generations.flatMap(({ releases }) => releases);
}

/** The tokens sampled in all generations, in order: their positions begin anew in each. */
export function allTokens({ generations }: TraceView): TokenSampled[] {
  return generations.flatMap(({ tokens }) => tokens);
}

/** The calls of tools in all generations, in order. */
export function allCalls({ generations }: TraceView): ToolCalled[] {
  return generations.flatMap(({ toolCalls }) => toolCalls);
}

/** True: the server offered the model tools of its own. */
export function hasTools({ accepted }: TraceView): boolean {
  return accepted?.features.some((flag) => flag.startsWith("tool:")) ?? false;
}

/** The questions about calls that change something, in order. */
export function allApprovals({ generations }: TraceView): ToolApprovalAsked[] {
  return generations.flatMap(({ approvals }) => approvals);
}

/** What was decided about a call; null: nothing yet. */
export function decisionOf({ generations }: TraceView, callId: string): ToolApproved | ToolDeclined | null {
  for (const { decisions } of generations)
    for (const each of decisions) if (each.call_id === callId) return each;
  return null;
}

export type MadeCall = Pick<ToolCalled, "call_id" | "name" | "arguments">;

/** All calls, also those that were declined and not run. An id ends in the numbers of generation and call. */
export function madeCalls(view: TraceView): MadeCall[] {
  const found = new Map<string, MadeCall>();
  for (const each of [...allApprovals(view), ...allCalls(view)]) found.set(each.call_id, each);
  return [...found.values()].sort((one, other) =>
    one.call_id.localeCompare(other.call_id, undefined, { numeric: true }),
  );
}

/** The calls that wait for the user's decision. */
export function waitingApprovals(view: TraceView): ToolApprovalAsked[] {
  if (isOver(view) || view.cancelledAt !== null) return [];
  return allApprovals(view).filter(({ call_id }) => decisionOf(view, call_id) === null);
}

/** Their results, as they came. */
export function allResults({ generations }: TraceView): ToolFinished[] {
  return generations.flatMap(({ toolResults }) => toolResults);
}

/** The texts of all generations. */
export function answerText({ generations }: TraceView): string {
  return generations.map(({ text }) => text).join("");
}

const NO_USAGE: Usage = {
  uncached_input: 0,
  cache_read: 0,
  cache_write_5m: 0,
  cache_write_1h: 0,
  output: 0,
};

/** The sum over the generations that have finished; null: none has. Of an embedding: its tokens. */
export function usageOf({ generations, embedding }: TraceView): Usage | null {
  if (embedding) return { ...NO_USAGE, uncached_input: embedding.num_tokens };
  const found = generations.flatMap(({ generation }) => (generation ? [generation.usage] : []));
  const [first, ...rest] = found;
  if (!first) return null;
  return rest.reduce((sum, usage) => {
    const names = Object.keys(sum) as (keyof Usage)[];
    return Object.fromEntries(names.map((name) => [name, sum[name] + usage[name]])) as unknown as Usage;
  }, first);
}

/** True: the request embeds texts, and the model generates nothing. */
export function isEmbedding(view: TraceView): boolean {
  return view.embeddedTexts !== null;
}

/** True: a program sent it. It belongs to no chat, and only a recording compares it with another. */
export function isOfProgram({ accepted }: TraceView): boolean {
  return accepted?.surface === "openai" || accepted?.surface === "anthropic";
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
  const first = allReleases(view)[0];
  return first ? tookUntil(view, first.at) : null;
}

/** False: a server elsewhere did not report its cached tokens in one of the generations. */
export function isCacheKnown({ generations }: TraceView): boolean {
  return generations.every(({ generation }) => generation?.is_cache_known !== false);
}

/** Tokens of the answer that a fork took over: the positions of those sampled go on after them. */
export function numKept(view: TraceView): number {
  return view.forked?.ids.length ?? 0;
}

/** Tokens that the model reads before it writes: the prompt, and the answer that a fork took over. */
export function numRead(view: TraceView): number {
  return (view.prompt?.ids.length ?? 0) + numKept(view);
}

/** Tokens read in all generations: each reads its whole prompt. */
export function numReadInAll(view: TraceView): number {
  return eachGeneration(view).reduce((sum, each) => sum + numRead(each), 0);
}

export interface AnswerPiece {
  position: number;
  /** base64 */
  piece: string;
}

/** The text of the generation's tokens before a position, as far as the characters are whole. */
export function textBefore(view: TraceView, position: number): string {
  const decoder = new TextDecoder();
  return generationPieces(view)
    .filter((each) => each.position < position)
    .map(({ piece }) => decoder.decode(decodeBase64(piece), { stream: true }))
    .join("");
}

/** All tokens of the generation, those that were taken over first. */
export function generationPieces({ forked, tokens }: Generation): AnswerPiece[] {
  return [...(forked?.pieces ?? []).map((piece, position) => ({ position, piece })), ...tokens];
}

/** Those of the answer alone, without the thinking before it. */
function spokenPieces(own: Generation): AnswerPiece[] {
  const pieces = generationPieces(own);
  return own.numThinking ? pieces.slice((own.forked?.ids.length ?? 0) + own.numThinking) : pieces;
}

/** A generation's pieces, and the position of its first token as the generation shown counts. */
interface Stretch {
  generation: number;
  first: number;
  pieces: AnswerPiece[];
}

/** Of each generation, in order. Those before the one shown begin below 0. */
function stretches(view: TraceView): Stretch[] {
  let first = 0;
  const found = view.generations.map((each) => {
    const stretch = { generation: each.generationNumber, first, pieces: generationPieces(each) };
    first += (stretch.pieces.at(-1)?.position ?? -1) + 1;
    return stretch;
  });
  const shown = found.find(({ generation }) => generation === view.generationNumber)!.first;
  return found.map((each) => ({ ...each, first: each.first - shown }));
}

/**
 * All tokens of the answer, of every generation, without those of the thinking; positions run on from those of the
 * generation shown.
 */
export function answerPieces(view: TraceView): AnswerPiece[] {
  return stretches(view).flatMap(({ first }, index) => {
    const pieces = spokenPieces(view.generations[index]!);
    return first ? pieces.map(({ position, piece }) => ({ position: first + position, piece })) : pieces;
  });
}

/** The generation of a position that runs on from those of the generation shown, and the position in it. */
export function placeInGenerations(
  view: TraceView,
  position: number,
): { generation: number; position: number } {
  const found = stretches(view);
  const { generation, first } = found.findLast((each) => each.first <= position) ?? found[0]!;
  return { generation, position: position - first };
}
