/** The timeline's view of a trace: the window on its time, its focus, marks and measure. Knows no pixels but the width
 * it is given, and draws nothing. */
import { Lanes, nearest, neighbour, type Hit } from "../../layout/lanes";
import {
  around,
  box,
  clamp,
  holding,
  pan,
  roomAhead,
  scale,
  ticks,
  zoom,
  type Range,
} from "../../layout/timeline";
import { compress, idleGaps, idleTime, UNCOMPRESSED, worthCompressing } from "../../layout/warp";
import type { RequestTrace } from "../../state/request/request-trace.svelte";
import { STAGES, type StageId } from "../../trace/stages";
import { duration, percent } from "../../trace/format";
import { announcement, spanName } from "../../trace/timing/span-words";
import type { Span } from "../../trace/timing/spans";
import { criticalPath } from "../../trace/timing/waits";
import type { Picture } from "./painter";

/** The first row shows the wait. */
export const NUM_ROWS = STAGES.length + 1;
const FLIGHT_MS = 180;
/** Share of the window by which an arrow key moves it. */
const LANE_STEP = 0.2;
/** Idle time is worth an offer from this share of the trace on. */
const WORTH_COMPRESSING = 0.2;

export class TimelineView {
  /** Width of the element that holds names and canvas. */
  outerWidth = $state(0);
  isCoarse = $state(false);
  isCompressed = $state(false);
  hasPath = $state(true);
  focus = $state.raw<Span | null>(null);
  /** The placed ones; `passing` is the one that the next replaces. */
  placed = $state.raw<number[]>([]);
  passing = $state<number | null>(null);
  hasDetails = $state(false);
  /** The search text. */
  sought = $state("");
  measured = $state.raw<Range | null>(null);
  hoveredRow = $state<number | null>(null);
  /** Live, time goes on between two events. */
  now = $state(-Infinity);
  /** Text for readers who do not see the canvas. */
  announced = $state("");

  private readonly lanes = new Lanes();
  /** The window on the axis. Null: all of it. */
  private chosen = $state.raw<Range | null>(null);
  private flight = 0;

  constructor(
    readonly trace: RequestTrace,
    private readonly isCalm: () => boolean,
  ) {}

  readonly box = $derived.by(() => box(this.outerWidth, NUM_ROWS, this.isCoarse));
  readonly laid = $derived.by(() => this.lanes.update(this.trace.whole));
  /** Live, the wait includes work under way. */
  readonly waits = $derived.by(() => {
    const path = criticalPath(this.trace.whole);
    const open = this.laid.lanes.flatMap(({ stage }) => stage.spans).find((span) => span.isOpen);
    const start = path.at(-1)?.end;
    const end = open && Math.max(open.end, this.now);
    if (!open || start === undefined || end! <= start) return path;
    return [...path, { stage: open.stage, label: `So far: ${open.title}`, start, end: end! }];
  });
  /** In the trace's own time. */
  readonly whole = $derived.by(() => {
    const { start, end } = this.laid.whole;
    if (this.trace.isOver) return { start, end };
    return roomAhead({ start, end: Math.max(end, this.now) });
  });
  readonly gaps = $derived.by(() =>
    this.trace.isOver
      ? worthCompressing(idleGaps(this.laid.busy(), this.whole), this.whole, this.box.width)
      : [],
  );
  readonly warp = $derived.by(() =>
    this.isCompressed ? compress(this.gaps, this.whole, this.box.width) : UNCOMPRESSED,
  );
  /** In places of the axis. */
  readonly axis = $derived.by(() => this.onAxis(this.whole));
  readonly window = $derived.by(() => (this.chosen ? clamp(this.chosen, this.axis) : this.axis));
  readonly on = $derived.by(() => scale(this.window, this.box.width, this.warp));
  readonly isFit = $derived.by(() => this.chosen === null);
  /** The time that could be left out: its length, and its share of the whole; null where it is not worth it. */
  readonly idle = $derived.by(() => {
    const us = idleTime(this.gaps);
    const share = us / (this.whole.end - this.whole.start);
    return share >= WORTH_COMPRESSING ? `${duration(us)}, ${percent(share)} idle` : null;
  });

  picture(selected: StageId | null): Picture {
    const { trace, box, on, warp } = this;
    return {
      box,
      on,
      ticks: ticks(on, warp),
      gaps: warp.gaps,
      lanes: this.laid.lanes,
      waits: this.waits,
      hasPath: this.hasPath,
      now: this.now,
      played: trace.isLive ? null : trace.position,
      playhead: trace.isLive && !trace.isOver ? Math.max(trace.position, this.now) : trace.position,
      hoveredRow: this.hoveredRow,
      selectedRow: selected && STAGES.findIndex(({ id }) => id === selected) + 1,
      focus: this.focus,
      measured: this.measured,
      marks: this.placed,
      passing: this.passing,
    };
  }

  private onAxis({ start, end }: Range): Range {
    return { start: this.warp.toAxis(start), end: this.warp.toAxis(end) };
  }

  show(window: Range | null): void {
    cancelAnimationFrame(this.flight);
    const isWhole = window && window.end - window.start >= this.axis.end - this.axis.start - 1e-6;
    this.chosen = isWhole ? null : window;
  }

  /** The window travels there, so that the eye can follow; where motion is not wanted it cuts. */
  fly(to: Range | null): void {
    cancelAnimationFrame(this.flight);
    if (this.isCalm()) return this.show(to);
    const from = this.window;
    const goal = to ?? this.axis;
    const since = performance.now();
    const step = (now: number) => {
      const t = Math.min(1, Math.max(0, now - since) / FLIGHT_MS);
      const eased = 1 - (1 - t) ** 3;
      if (t >= 1) return this.show(to);
      this.chosen = {
        start: from.start + (goal.start - from.start) * eased,
        end: from.end + (goal.end - from.end) * eased,
      };
      this.flight = requestAnimationFrame(step);
    };
    this.flight = requestAnimationFrame(step);
  }

  /** Zoom around a pixel of the canvas. */
  zoomAt(x: number, factor: number): void {
    this.show(zoom(this.window, this.axis, factor, this.warp.toAxis(this.on.toTime(x))));
  }

  panBy(px: number): boolean {
    const before = this.window;
    const after = pan(before, this.axis, px * this.on.usPerPx);
    if (this.isFit || Math.abs(after.start - before.start) < this.on.usPerPx * 0.01) return false;
    this.show(after);
    return true;
  }

  /** Zoom by key: about the middle or the focused span, by shares of the window. */
  zoomBy(factor: number): void {
    const middle = (this.window.start + this.window.end) / 2;
    const focus = this.focus && this.warp.toAxis((this.focus.start + this.focus.end) / 2);
    const isSeen = focus !== null && focus > this.window.start && focus < this.window.end;
    this.fly(zoom(this.window, this.axis, factor, isSeen ? focus : middle));
  }

  panByShare(share: number): void {
    this.fly(pan(this.window, this.axis, share * (this.window.end - this.window.start)));
  }

  /** Show the focused span; once there, or without one, the whole. */
  frame(): void {
    const to = this.focus && around(this.onAxis(this.focus), this.axis);
    const isThere = to && Math.abs(to.start - this.window.start) + Math.abs(to.end - this.window.end) < 1;
    this.fly(isThere ? null : to);
    this.announced = !to || isThere ? "The whole request." : `Closer: ${this.shown(to)}.`;
  }

  shown(window: Range = this.window): string {
    return `${duration(this.warp.toTime(window.start))} to ${duration(this.warp.toTime(window.end))}`;
  }

  zoomTo({ start, end }: Range): void {
    this.fly(clamp(this.onAxis({ start, end: Math.max(end, start + 20) }), this.axis));
  }

  toggleCompressed(): void {
    this.show(null);
    this.isCompressed = !this.isCompressed;
  }

  /** Focus a span and announce it; the window moves no further than it must. */
  attend(span: Span | null): void {
    if (!span) return;
    this.focus = span;
    const lane = STAGES.findIndex(({ id }) => id === span.stage);
    this.announced = announcement(span, STAGES[lane]!.label);
    if (!this.isFit) this.show(holding(this.window, this.axis, this.onAxis(span)));
  }

  /** Go to the next or previous event of all lanes: from the focused span, else from the playhead. */
  walk(direction: 1 | -1): void {
    const { isLive, position } = this.trace;
    // A playhead that was never moved stands at the end: the first event comes next.
    const moment = isLive && direction > 0 ? -Infinity : position;
    const found = neighbour(this.laid.tracks, this.focus ?? moment, direction);
    if (!found && !this.focus) this.announced = "No event there.";
    this.attend(found ?? this.focus);
  }

  /** With nothing focused the window moves. */
  walkLane(direction: 1 | -1): void {
    if (!this.focus) return this.panByShare(direction * LANE_STEP);
    const tracks = this.tracksOf(this.focus.stage);
    this.attend(neighbour(tracks, this.focus, direction) ?? this.focus);
  }

  /** Go to the next lane up or down that has anything, at the same time. */
  changeLane(direction: 1 | -1): void {
    const time = this.focus ? this.focus.start : this.on.toTime(this.box.width / 2);
    const from = this.focus
      ? STAGES.findIndex(({ id }) => id === this.focus!.stage)
      : direction > 0
        ? -1
        : STAGES.length;
    for (let row = from + direction; STAGES[row]; row += direction) {
      const span = nearest(this.tracksOf(STAGES[row]!.id), time);
      if (span) return this.attend(span);
    }
  }

  attendLane(stage: StageId): void {
    this.attend(nearest(this.tracksOf(stage), this.on.toTime(this.box.width / 2)));
  }

  tracksOf(stage: StageId) {
    const { stage: made, bars, marks } = this.laid.lanes.find(({ id }) => id === stage)!;
    return [made, bars, marks];
  }

  /** A mark at the focused span's start, or at the playhead, until the next one; the same again takes it away. */
  mark(): void {
    const at = this.moment;
    const isThere = this.passing === at;
    this.passing = isThere ? null : at;
    this.announced = `${isThere ? "Mark removed" : "Marked"} at ${duration(at)}.`;
  }

  /** A mark that stays beside others; the same again takes it away. */
  keepMark(): void {
    const at = this.moment;
    const isThere = this.placed.includes(at);
    this.placed = isThere ? this.placed.filter((each) => each !== at) : [...this.placed, at];
    this.announced = `${isThere ? "Mark removed" : "Mark kept"} at ${duration(at)}.`;
  }

  private get moment(): number {
    return this.focus?.start ?? this.trace.position;
  }

  toggleDetails(): void {
    this.hasDetails = !this.hasDetails;
  }

  /** Spans and events whose name or lane holds the text, in the order of time. */
  matches(text: string): Span[] {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return [];
    return this.laid.lanes
      .flatMap(({ stage, bars, marks }) => [...stage.spans, ...bars.spans, ...marks.spans])
      .filter((span) => `${spanName(span)} ${span.event?.type ?? ""}`.toLowerCase().includes(wanted))
      .sort((a, b) => a.start - b.start || a.end - b.end);
  }

  /** Remove overlays, the latest first, placed marks last; false when there is none. */
  clear(): boolean {
    if (this.measured) this.measured = null;
    else if (this.focus) this.focus = null;
    else if (this.passing !== null) this.passing = null;
    else if (this.placed.length) this.placed = [];
    else return false;
    this.announced = "Cleared.";
    return true;
  }

  seek(x: number): void {
    this.trace.pause();
    this.trace.seek(this.on.toTime(x));
  }

  /** Live, the end of the timeline is now: as long after the last event as this page has waited for another. */
  advance(sinceLastEventMs: number): void {
    if (this.trace.isOver || this.trace.isLost) return;
    this.now = Math.max(this.now, this.trace.duration + sinceLastEventMs * 1000);
  }
}

export type { Hit };
