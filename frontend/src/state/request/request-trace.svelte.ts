/** One request's events and the moment of it that is shown: live at its end, or a replay of its past. */
import type { AnyEvent, ClientTiming, Frame } from "../../protocol/events";
import { fold } from "../../trace/fold";
import { closestCall } from "../../trace/sampling/calls";
import {
  beatOf,
  FIRST_CUE,
  isCaughtUp,
  isFast,
  isFollowed,
  nextCue,
  type Cue,
} from "../../trace/journey/follow";
import { counted } from "../../trace/format";
import { savedFrame, sentFrame, type SentFrame } from "../../trace/frames";
import { nextStep, stepBefore } from "../../trace/journey/log-steps";
import { progress, shownMs } from "../../trace/journey/pace";
import { planOf, type Stop } from "../../trace/journey/scene-plan";
import { sceneAt, type SceneId } from "../../trace/journey/scenes";
import { Story } from "../../trace/journey/story";
import {
  allTokens,
  atGeneration,
  emptyView,
  isOver,
  placeInGenerations,
  type NumberedEvent,
  type TraceView,
} from "../../trace/view";
import type { Socket } from "../../transport/socket";
import { EventStream, type Carrier } from "../../transport/stream";
import { Arrivals, type Arrived } from "./arrivals";
import { savedEvents } from "./saved-events";
import { TurnBefore } from "./turn-before.svelte";

/** Times as fast as it was; or at the pace at which each event can be followed. */
export type Speed = number | "explain";

export const SPEEDS: Speed[] = ["explain", 0.1, 0.25, 0.5, 1, 2, 5, 10, 20];

interface TimedEvent extends NumberedEvent {
  /** The earliest time of its showing in a replay: never before its predecessors. */
  time: number;
}

export class RequestTrace {
  /** The generation that a reader has chosen; null: the last at the moment shown. Moving the playhead forgets it. */
  chosenGeneration = $state<number | null>(null);
  private moment = $state.raw<TraceView>(emptyView());
  private known = $state.raw<TraceView>(emptyView());
  /** The moment shown, at the generation shown. */
  readonly view = $derived(atGeneration(this.moment, this.chosenGeneration));
  /** All that is known, at the generation shown. */
  readonly whole = $derived(atGeneration(this.known, this.view.generationNumber));
  isLive = $state(true);
  isPlaying = $state(false);
  isEnded = $state(false);
  isLost = $state(false);
  /** The reason why the server does not send the events. */
  refusal = $state("");
  speed = $state<Speed>("explain");
  /** The progress of the newest event's showing while a replay plays, 0 to 1; else the event is shown as it ends. */
  beat = $state(1);
  /** The request runs ahead of what is shown: each scene is held until it can be seen. */
  isFollowing = $state(false);
  /** Following, the tokens come several at a time. */
  isFast = $state(false);
  /** Explaining: the parts left out before the step shown, and the step's news; empty where there are none. */
  leap = $state("");
  /** The selected token; null: the newest. */
  selected = $state<number | null>(null);
  hovered = $state<number | null>(null);
  /** Tokens that another panel points at, as indices into prompt and answer together, with their name. */
  covered = $state.raw<{ start: number; end: number; name: string } | null>(null);
  onEvent: ((event: AnyEvent) => void) | null = null;
  onEnd: (() => void) | null = null;
  onRefused: (() => void) | null = null;

  /** In the order of arrival; unknown facts of a saved frame are null. Changes with `whole`. */
  readonly frames: SentFrame[] = [];
  readonly turnBefore = new TurnBefore(this);
  story = new Story();
  private numTextChars = 0;
  private log: TimedEvent[] = [];
  private readonly arrivals = new Arrivals((arrived) => this.read(arrived));
  private shown = $state(0);
  private time = $state(0);
  private lastTick = 0;
  private cue: Cue = FIRST_CUE;
  private isCalm = false;
  /** Following, all events are shown: no frame is requested before there are more. */
  private isIdle = false;
  private stream: EventStream | null = null;
  private socket: Socket | null = null;
  private isClosed = false;
  private complete: () => void = () => {};
  /** Resolved when no more events come: all are here, the server sends none, or the trace was closed. */
  readonly completion = new Promise<void>((resolve) => (this.complete = resolve));

  constructor(readonly requestId: string) {}

  /** A trace that is known as a whole, and follows nothing. */
  static saved(frames: Frame[]): RequestTrace {
    const trace = new RequestTrace("");
    trace.frames.push(...frames.map(({ seq, events }) => savedFrame(seq, events.length)));
    trace.read(
      frames.flatMap(({ seq, events }) => events.map((event, index) => ({ event, seq: seq + index }))),
    );
    trace.end();
    return trace;
  }

  open(socket: Socket): void {
    this.socket = socket;
    const handlers = {
      onEvent: (event: AnyEvent, seq: number) => {
        this.arrivals.take(event, seq);
        this.onEvent?.(event);
      },
      onFrame: (frame: Frame, text: string, carrier: Carrier) => {
        this.numTextChars += text.length;
        this.frames.push(sentFrame(frame, text, carrier, this.numTextChars <= MOST_TEXT_CHARS));
      },
      onAgain: () => this.beginAgain(),
      onEnd: () => {
        this.arrivals.flush();
        this.end();
        this.onEnd?.();
      },
      onLost: (isLost: boolean) => (this.isLost = isLost),
      onRefused: (message: string) => {
        this.refusal = message;
        this.complete();
        this.wake();
        this.onRefused?.();
      },
    };
    this.stream = new EventStream(this.requestId, handlers, socket);
  }

  /** Load a settled trace as it was saved, far sooner than frame by frame; follow any other live. */
  async openSaved(socket: Socket): Promise<void> {
    this.socket = socket;
    const saved = await savedEvents(this.requestId);
    if (this.isClosed) return;
    if (!saved) return this.open(socket);
    const { events } = saved;
    let seq = 1;
    for (const size of saved.sizes) {
      this.frames.push(savedFrame(seq, size));
      seq += size;
    }
    this.read(events.map((event, index) => ({ event, seq: index + 1 })));
    this.end();
  }

  /** The trace of an agent that this request started; null: this trace has no server to ask. The caller closes it. */
  openAgent(requestId: string): RequestTrace | null {
    if (!this.socket) return null;
    const agent = new RequestTrace(requestId);
    void agent.openSaved(this.socket);
    return agent;
  }

  /** The log was lost, and written anew: forget what came of it. */
  private beginAgain(): void {
    this.arrivals.drop();
    this.log = [];
    this.frames.length = this.numTextChars = 0;
    this.story = new Story();
    this.cue = FIRST_CUE;
    this.planned = { num: 0, plan: [] };
    this.selected = this.hovered = this.covered = null;
    this.known = emptyView();
    this.chosenGeneration = null;
    this.duration = 0;
    const wasFollowing = this.isFollowing;
    this.toLive();
    if (wasFollowing) this.startFollowing(this.isCalm);
  }

  private end(): void {
    this.isEnded = true;
    this.complete();
    this.wake();
  }

  close(): void {
    this.isClosed = true;
    this.complete();
    this.stream?.close();
    this.isPlaying = false;
  }

  receive(event: AnyEvent, seq: number): void {
    this.read([{ event, seq }]);
    this.onEvent?.(event);
  }

  private read(arrived: Arrived[]): void {
    let { known } = this;
    let time = this.log.at(-1)?.time ?? 0;
    for (const { event, seq } of arrived) {
      known = fold(known, event, seq);
      const entry = known.events.at(-1)!;
      time = Math.max(time, entry.at);
      this.log.push({ ...entry, time });
      this.story.add(entry.event);
    }
    this.duration = time;
    this.known = known;
    if (this.isLive) this.toLive();
    this.wake();
  }

  /** The browser's own timing, which this page knows before the server does. */
  observe(client: ClientTiming): void {
    if (this.whole.accepted)
      this.receive({ type: "request.observed", at: this.whole.at, client }, (this.log.at(-1)?.seq ?? 0) + 1);
  }

  get isOver(): boolean {
    return isOver(this.whole);
  }

  /** Duration of all known events, µs since acceptance. */
  duration = $state(0);

  /** The moment shown moves by itself: sentences about it are not read aloud before it rests. */
  get isRunning(): boolean {
    return this.isPlaying || (this.isLive && !this.isOver);
  }

  get position(): number {
    if (this.isSettled) return this.log[this.playhead - 1]?.time ?? this.duration;
    return this.isLive ? this.duration : this.time;
  }

  /** Go to the end and follow it: the newest token is selected. */
  follow(): void {
    this.selected = null;
    this.chosenGeneration = null;
    this.toLive();
  }

  /** Show one of the request's generations; the last one goes on to be the last. */
  chooseGeneration(number: number): void {
    this.leave();
    this.selected = null;
    this.chosenGeneration = number === this.known.generations.at(-1)!.generationNumber ? null : number;
  }

  /** Go to the end, with the closest call of the answer selected; the answer stays whole. */
  settle(): void {
    this.toLive();
    this.selected = closestCall(this.whole)?.position ?? null;
  }

  toLive(): void {
    this.isLive = true;
    this.isPlaying = false;
    this.isFollowing = false;
    this.moment = this.known;
    this.shown = this.log.length;
    this.time = this.duration;
    this.beat = 1;
    this.leap = "";
  }

  /** Show the moment `time`, µs since acceptance. */
  seek(time: number): void {
    this.isFollowing = false;
    this.wake();
    const target = Math.min(Math.max(0, time), this.duration);
    const end = this.log.findIndex((entry) => entry.time > target);
    this.show(end < 0 ? this.log.length : end, target);
  }

  /** Number of events shown. */
  get numShown(): number {
    return this.isLive ? this.known.events.length : this.shown;
  }

  /** True when a token sampled here is selected while the whole request is shown. */
  get isSettled(): boolean {
    return this.isLive && this.selected !== null && this.placeOfSelected >= 0;
  }

  /** Among the sampled tokens of the generation shown; -1: a fork took it over. */
  private get placeOfSelected(): number {
    return this.whole.tokens.findIndex(({ position }) => position === this.selected);
  }

  /** The playhead's place, as a number of events: the events shown, or those up to the selected token. */
  get playhead(): number {
    if (!this.isSettled) return this.numShown;
    return this.story.tokenEnds[this.numBefore + this.placeOfSelected] ?? this.numShown;
  }

  /** Number of tokens in the generations before the one shown. */
  private get numBefore(): number {
    const { generationNumber, generations } = this.whole;
    const before = generations.filter((each) => each.generationNumber < generationNumber);
    return before.reduce((sum, { tokens }) => sum + tokens.length, 0);
  }

  /** The picture shows the answer being written, token by token. */
  get isWriting(): boolean {
    return !this.view.generation && (this.isFast || (this.isLive && !this.isOver));
  }

  /** The scene on the screen: while the answer is written the draw stays, whatever is released meanwhile. */
  get scene(): SceneId {
    const scene = this.isSettled ? "sampling" : sceneAt(this.view);
    return scene === "release" && this.isWriting ? "sampling" : scene;
  }

  /** The moment after the first `end` events; the reader has moved the playhead there. */
  showUpTo(end: number): void {
    this.leave();
    const at = Math.min(Math.max(1, end), this.log.length);
    const entry = this.log[at - 1];
    if (entry) this.show(at, entry.time);
  }

  /** The moment at which a token was sampled, as one of the past; null: it is not in the log. */
  viewAtToken(position: number): TraceView | null {
    const index = this.indexOfToken(position);
    if (index < 0) return null;
    return this.log.slice(0, index + 1).reduce((view, each) => fold(view, each.event, each.seq), emptyView());
  }

  /** In the log; -1: it is not there. */
  private indexOfToken(position: number, generation = this.whole.generationNumber): number {
    return this.log.findIndex(
      ({ event }) =>
        event.type === "token.sampled" && event.generation === generation && event.position === position,
    );
  }

  /** The reader takes the playhead, and goes on from the selected token. */
  private leave(): void {
    this.isPlaying = false;
    this.isFollowing = false;
    if (this.isSettled) this.show(this.playhead, this.position);
  }

  /** The view after the first `end` events, at `time`. The playhead has been moved: its token is selected. */
  private show(end: number, time: number): void {
    const isForward = !this.isLive && end >= this.shown;
    let view = isForward ? this.moment : emptyView();
    for (const entry of this.log.slice(isForward ? this.shown : 0, end))
      view = fold(view, entry.event, entry.seq);
    this.isLive = false;
    this.selected = null;
    this.chosenGeneration = null;
    this.shown = end;
    this.time = time;
    this.moment = { ...view, at: time };
    this.beat = 1;
    this.leap = "";
  }

  /** True when there is nothing after the moment shown. */
  get isAtEnd(): boolean {
    return this.isLive || this.shown >= this.log.length;
  }

  /** Shows the request scene by scene from its beginning, while it runs; calm: as stills, up to the first token. */
  startFollowing(isCalm = false): void {
    this.cue = FIRST_CUE;
    this.isCalm = isCalm;
    this.isFast = false;
    this.show(0, 0);
    this.isFollowing = true;
    this.run();
  }

  /** The picture's delay behind the newest event, µs. */
  get behind(): number {
    return this.isFollowing ? this.duration - this.time : 0;
  }

  play(): void {
    if (this.isFollowing) return this.run();
    const isExplaining = this.speed === "explain";
    if (this.isAtEnd) {
      this.seek(0);
      this.beat = isExplaining ? 0 : 1;
    } else if (isExplaining && this.beat === 1) this.showNext();
    this.run();
  }

  private run(): void {
    if (this.isPlaying && !this.isIdle) return;
    this.isPlaying = true;
    this.isIdle = false;
    this.lastTick = performance.now();
    requestAnimationFrame((now) => this.tick(now));
  }

  /** There may be more to show. */
  private wake(): void {
    if (this.isPlaying && this.isIdle) this.run();
  }

  pause(): void {
    this.isPlaying = false;
  }

  private tick(now: number): void {
    if (!this.isPlaying) return;
    // A tab that was hidden goes on where it was, not where it would be.
    const elapsed = Math.min(100, now - this.lastTick);
    this.lastTick = now;
    if (this.isFollowing) this.goOnFollowing(elapsed);
    else if (this.speed === "explain") this.explain(elapsed);
    else this.advance(elapsed, this.speed);
    this.isIdle = this.isFollowing && isCaughtUp(this.story, this.cue);
    if (this.isPlaying && !this.isIdle) requestAnimationFrame((next) => this.tick(next));
  }

  private advance(elapsedMs: number, speed: number): void {
    this.seek(this.time + elapsedMs * 1000 * speed);
    const [newest, next] = [this.log[this.shown - 1], this.log[this.shown]];
    const toMs = (us: number) => us / 1000 / speed;
    if (newest && next)
      this.beat = progress(newest.event, toMs(this.time - newest.time), toMs(next.time - newest.time));
    if (this.time >= this.duration) this.isPlaying = false;
  }

  private goOnFollowing(elapsedMs: number): void {
    const before = this.cue.shown;
    this.cue = nextCue(this.story, this.cue, elapsedMs);
    const { shown } = this.cue;
    if (shown !== before) this.show(shown, this.log[shown - 1]!.time);
    this.isFast = isFast(this.story, this.cue);
    this.beat = this.isFast ? 1 : beatOf(this.cue);
    const isCut = (this.isEnded || this.refusal !== "") && isCaughtUp(this.story, this.cue);
    if (isCut || isFollowed(this.story, this.cue)) this.settle();
    else if (this.isCalm && this.isFast) this.toLive();
  }

  /** Each event takes the time it needs to be followed. */
  private explain(elapsedMs: number): void {
    const newest = this.log[this.shown - 1];
    const length = newest ? shownMs(newest.event) : 0;
    this.beat = Math.min(1, length ? this.beat + elapsedMs / length : 1);
    if (this.beat < 1) return;
    if (this.shown >= this.log.length) this.isPlaying = false;
    else this.showNext();
  }

  private showNext(): void {
    if (this.showStop()) this.beat = 0;
  }

  /** Move to the next step at which explaining stops, as it ends; returns true when there is one. */
  showStop(): boolean {
    const stop = this.stopAhead;
    if (!stop) return false;
    const { end, news } = stop;
    const entry = this.log[end - 1]!;
    const numBefore = allTokens(this.moment).length;
    this.show(end, entry.time);
    const isToken = entry.event.type === "token.sampled";
    const num = allTokens(this.moment).length - numBefore - (isToken ? 1 : 0);
    this.leap = [num > 0 ? `${counted(num, "token")} later` : "", news].filter(Boolean).join(": ");
    return true;
  }

  private get stopAhead(): Stop | undefined {
    return this.plan().find(({ end }) => end > this.shown);
  }

  private planned: { num: number; plan: Stop[] } = { num: 0, plan: [] };

  private plan(): Stop[] {
    const num = this.log.length;
    if (this.planned.num !== num) this.planned = { num, plan: planOf(this.log) };
    return this.planned.plan;
  }

  /** A scene as it ends; or, playing, from its beginning. */
  showScene(scene: SceneId, isPlayed: boolean): void {
    const chapter = this.story.chapters.find((each) => each.scene === scene);
    if (!chapter) return;
    this.leave();
    // The answer's tokens and their releases alternate: the scene of the release follows the last token.
    const after = scene === "release" && this.story.segments().find((each) => each.scene === scene);
    const [start, last] = after ? [after.start + 1, after.end] : [chapter.start, chapter.end];
    const end = isPlayed ? start : last;
    this.show(end, this.log[end - 1]!.time);
    if (!isPlayed) return;
    this.speed = "explain";
    this.beat = 0;
    this.play();
  }

  /** Go to the next or previous event that is worth a look, as it ends. */
  stepEvent(direction: 1 | -1): void {
    this.leave();
    if (direction > 0 && this.beat < 1) {
      this.beat = 1;
      return;
    }
    const end = direction > 0 ? nextStep(this.log, this.shown) : stepBefore(this.log, this.shown);
    const entry = this.log[(end ?? 0) - 1];
    if (end !== null && entry) this.show(end, entry.time);
  }

  /** Look at one token, at the moment at which it was sampled. A position may run over into another generation. */
  select(given: number): void {
    this.leave();
    const { generation, position } = placeInGenerations(this.whole, given);
    const index = this.indexOfToken(position, generation);
    if (index >= 0) this.show(index + 1, this.log[index]!.time);
    this.selected = position;
  }

  /** Go to the next or previous sampled token. */
  step(direction: 1 | -1): void {
    this.leave();
    const tokens = this.log.filter((entry) => entry.event.type === "token.sampled");
    const count = allTokens(this.moment).length + direction;
    const beforeFirst = Math.max(0, (tokens[0]?.time ?? 0) - 1);
    if (count <= 0) this.seek(Math.min(this.position, beforeFirst));
    else {
      const target = tokens[Math.min(count, tokens.length) - 1];
      // Tokens of one release share a frame, not a time: stepping counts events.
      if (target) this.show(this.log.indexOf(target) + 1, target.time);
    }
  }
}

/** Limit on the frames' texts that are kept as they came: 4 MiB. */
const MOST_TEXT_CHARS = 1 << 22;
