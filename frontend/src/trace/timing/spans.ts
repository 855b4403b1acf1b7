/** A request's spans and marks, lane by lane: the few that are made of several events, and one for each other event. */
import {
  type AnyEvent,
  SHOWN,
  type TokenSampled,
  type ToolCalled,
  type ToolFinished,
} from "../../protocol/events";
import type { StageId } from "../stages";
import { browserMoments } from "../browser-clock";
import { counted } from "../format";
import { queueWaits, WAIT_WORDS } from "./queue-waits";
import { takeOvers } from "../take-overs";
import {
  allApprovals,
  allCalls,
  allReleases,
  allResults,
  atLastGeneration,
  decisionOf,
  eachGeneration,
  isOver,
  type NumberedEvent,
  type TraceView,
  waitingApprovals,
} from "../view";

export interface Span {
  stage: StageId;
  /** The event's own words are made only when the reader opens it. */
  title: string | null;
  event: AnyEvent | null;
  /** A mark is a moment: nothing is known to have lasted. */
  isMark: boolean;
  /** Nothing has ended it yet: `end` is the last moment heard of. */
  isOpen: boolean;
  /** µs since acceptance. */
  start: number;
  end: number;
  /** For spans that stand for a generated token. */
  position?: number;
  /** The part of the lane's height that the span fills, where several run side by side. */
  lines?: { at: number; num: number };
}

type Moment = number | null | undefined;

/** Spans that several events make together. There are only ever a few; they are made again when the view grows. */
export function stageSpans(view: TraceView): Span[] {
  const found: Span[] = [];
  const add: Add = (stage, title, start, end, isOpen = false) => {
    if (start != null && end != null) found.push(titled(stage, title, start, end, isOpen));
  };
  const { accepted, gateway, inputCheck, bill } = view;
  const { generation } = atLastGeneration(view);
  const releases = allReleases(view);
  const browser = browserMoments(view);
  const over = view.finished ?? view.failed;
  add("browser", "key press to send", browser.keydown, browser.sent);
  add("browser", "POST and its reply", browser.sent, browser.responded);
  add("browser", "network and first paint", releases[0]?.at, browser.firstPaint);
  if (browser.lastPaint !== browser.firstPaint)
    add("browser", "network and last paint", releases.at(-1)?.at, browser.lastPaint);
  add("gateway", "sign-in, limits, records", accepted?.received_at, gateway?.at);
  add("safety", "check of the message", inputCheck && inputCheck.at - inputCheck.duration_us, inputCheck?.at);
  embeddingSpans(view, add);
  for (const each of eachGeneration(view)) generationSpans(each, add);
  for (const { call_id, at } of allApprovals(view)) {
    const end = decisionOf(view, call_id) ?? over;
    add("tools", "waiting for approval", at, end?.at ?? view.at, end === null);
  }
  if (!over) found.push(...openCalls(view));
  add("bill", "bill", (generation ?? view.embedding)?.at, bill?.at);
  const isWaiting = waitingApprovals(view).length > 0;
  if (generation && !bill && !isOver(view) && !isWaiting) add("bill", "bill", generation.at, view.at, true);
  add("bill", "saving the trace", bill?.at, over?.at);
  return found;
}

function openCalls(view: TraceView): Span[] {
  const calls = allCalls(view);
  const done = new Set(allResults(view).map(({ call_id }) => call_id));
  const open = new Map(calls.filter(({ call_id }) => !done.has(call_id)).map((call) => [call.call_id, call]));
  return [...open.values()].map((call) => ({
    ...titled("tools", call.name, call.at, view.at, true),
    lines: linesOf(calls, call),
  }));
}

/** The calls of one generation run side by side: each has its own line of the lane. A take-over calls again. */
function linesOf(calls: ToolCalled[], { generation, call_id }: ToolCalled | ToolFinished): Span["lines"] {
  const ids = [
    ...new Set(calls.filter((each) => each.generation === generation).map((each) => each.call_id)),
  ];
  const at = ids.indexOf(call_id);
  return at < 0 ? undefined : { at, num: ids.length };
}

function embeddingSpans({ embeddedTexts: texts, embedding }: TraceView, add: Add): void {
  add("tokens", "tokenization", texts && texts.at - texts.duration_us, texts?.at);
  add("prefill", "embedding", embedding && embedding.at - embedding.duration_us, embedding?.at);
}

type Add = (stage: StageId, title: string, start: Moment, end: Moment, isOpen?: boolean) => void;

function generationSpans(view: TraceView, add: Add): void {
  const { context, prompt, started, generation, prefill, tokens, thinkingEnded: thought } = view;
  const isRunning = !isOver(view) && generation === null;
  const pause = takeOvers(view).find(({ end }) => end === null);
  add("context", "context assembly", context && context.at - context.duration_us, context?.at);
  add("tokens", "tokenization", prompt && prompt.at - prompt.duration_us, prompt?.at);
  if (view.numThinking) {
    const title = thought ? `thinking: ${counted(thought.num_tokens, "token")}` : "thinking";
    add("sampling", title, tokens[0]?.at, thought?.at ?? view.at, thought === null && isRunning);
  }
  for (const { where, start, end, isOpen } of queueWaits(view))
    add("queue", WAIT_WORDS[where], start, end, isOpen);
  if (started?.server && !prefill.length)
    add("prefill", "the server's own queue and prefill", started.at, tokens[0]?.at);
  if (started && !tokens.length && isRunning && !pause)
    add("prefill", "reading the prompt", prefill.at(-1)?.at ?? started.at, view.at, true);
  if (pause && isRunning) add("queue", "no worker; another takes over", pause.start, view.at, true);
  else if (tokens.length && isRunning) add("sampling", "the next token", tokens.at(-1)!.at, view.at, true);
}

function titled(stage: StageId, title: string, start: number, end: number, isOpen: boolean): Span {
  return {
    stage,
    title,
    event: null,
    isMark: false,
    isOpen,
    start,
    end: Math.max(start, end),
  };
}

/** Reads a log once, from front to back, and turns each event into its spans and marks. */
export class SpanReader {
  private lastToken: TokenSampled | null = null;
  private preemptedAt: number | null = null;
  private interruptedAt: number | null = null;
  private readonly calls: ToolCalled[] = [];

  read({ event }: NumberedEvent): Span[] {
    if (event.type === "tool.called") this.calls.push(event);
    const found = [...this.waitAfterPreemption(event), ...this.takeOver(event)];
    const shown = SHOWN[event.type];
    if (shown?.is_mark) found.push(lasting(shown.lane, event, event.at, event.at, true));
    else if (event.type === "prefill.advanced")
      found.push(lasting("prefill", event, event.at - event.step_us, event.at));
    else if (event.type === "safety.checked" && event.layer !== "input")
      found.push(
        lasting(event.subject ? "safety" : "release", event, event.at - event.duration_us, event.at),
      );
    else if (event.type === "tool.finished") found.push(this.call(event));
    else if (event.type === "token.sampled") found.push(this.token(event));
    return found;
  }

  /** A generation's first token comes out of the prefill's last step, which has a span of its own. */
  private token(event: TokenSampled): Span {
    const before = this.lastToken?.generation === event.generation ? this.lastToken : null;
    this.lastToken = event;
    // A step of unknown duration begins at the arrival of the token before.
    const start = event.step_us === null ? (before?.at ?? event.at) : event.at - event.step_us;
    return {
      ...lasting("sampling", event, before ? start : event.at, event.at, !before),
      position: event.position,
    };
  }

  private call(event: ToolFinished): Span {
    const name = this.calls.find(({ call_id }) => call_id === event.call_id)?.name;
    const span = lasting("tools", event, event.at - event.duration_us, event.at);
    if (!name) return span;
    return { ...span, title: event.is_error ? `${name}: failed` : name, lines: linesOf(this.calls, event) };
  }

  /** The pause from the last word of a worker that ended to the attempt that goes on. */
  private takeOver(event: AnyEvent): Span[] {
    const since = this.interruptedAt;
    if (event.type === "generation.interrupted" && since === null)
      this.interruptedAt = event.at - event.silent_us;
    if (since === null || event.type !== "generation.resumed") return [];
    this.interruptedAt = null;
    return [titled("queue", "no worker; another takes over", since, event.at, false)];
  }

  private waitAfterPreemption(event: AnyEvent): Span[] {
    const since = this.preemptedAt;
    if (event.type === "generation.preempted") this.preemptedAt = event.at;
    if (since === null || event.type !== "prefill.advanced") return [];
    this.preemptedAt = null;
    return [titled("queue", "waiting for memory", since, event.at - event.step_us, false)];
  }
}

function lasting(stage: StageId, event: AnyEvent, start: number, end: number, isMark = false): Span {
  return {
    stage,
    title: null,
    event,
    isMark,
    isOpen: false,
    start: Math.min(start, end),
    end,
  };
}

/** All of them at once, stage by stage in the order of the log. */
export function spans(view: TraceView): Span[] {
  const reader = new SpanReader();
  return [...stageSpans(view), ...view.events.flatMap((entry) => reader.read(entry))];
}
