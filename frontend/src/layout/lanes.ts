/** The spans of each lane in the order of their start, found by binary search and merged where a pixel holds many. */
import { STAGES, type StageId } from "../trace/stages";
import { SpanReader, stageSpans, type Span } from "../trace/timing/spans";
import type { TraceView } from "../trace/view";
import { wholeRange, type Range, type Scale } from "./timeline";

/** Least width of a span, px. */
export const MIN_WIDTH = 2;
/** Adjacent spans narrower than this are drawn as one, px. */
const FINE = 3;
/** Most spans compared under the pointer. */
const MOST_COMPARED = 256;

/** Spans in the order of their start. `reach`: the latest end among a span and those before it. */
export class Track {
  readonly spans: Span[] = [];
  readonly starts: number[] = [];
  readonly reach: number[] = [];

  add(span: Span): void {
    let at = this.spans.length;
    while (at > 0 && this.starts[at - 1]! > span.start) at--;
    this.spans.splice(at, 0, span);
    this.starts.splice(at, 0, span.start);
    this.reach.length = at;
    for (let index = at; index < this.spans.length; index++)
      this.reach.push(Math.max(this.reach[index - 1] ?? -Infinity, reachOf(this.spans[index]!)));
  }
}

const reachOf = (span: Span) => (span.isOpen ? Infinity : span.end);

/** First index whose value is at least (or, `above`, more than) the limit. */
function search(values: number[], limit: number, above = false, from = 0, to = values.length): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (above ? values[middle]! <= limit : values[middle]! < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

export interface Lane {
  id: StageId;
  /** Spans made from several events. They are few, and every update makes them again. */
  stage: Track;
  bars: Track;
  marks: Track;
}

/** The lanes of a view that grows; each event is read once. */
export class Lanes {
  private lanes: Lane[] = [];
  private reader = new SpanReader();
  private log: TraceView["events"] | null = null;
  private numRead = 0;

  update(view: TraceView): Laid {
    if (view.events !== this.log || view.events.length < this.numRead) this.restart(view);
    const lane = new Map(this.lanes.map((each) => [each.id, each]));
    for (const each of this.lanes) each.stage = new Track();
    for (const span of stageSpans(view)) lane.get(span.stage)!.stage.add(span);
    for (; this.numRead < view.events.length; this.numRead++)
      for (const span of this.reader.read(view.events[this.numRead]!))
        lane.get(span.stage)![span.isMark ? "marks" : "bars"].add(span);
    return laidOut(this.lanes);
  }

  private restart(view: TraceView): void {
    this.log = view.events;
    this.numRead = 0;
    this.reader = new SpanReader();
    this.lanes = STAGES.map(({ id }) => ({ id, stage: new Track(), bars: new Track(), marks: new Track() }));
  }
}

/** The lanes after an update. Its tracks are shared with later updates and go on growing. */
export interface Laid {
  lanes: Lane[];
  /** All lanes' tracks, in the order in which the keyboard walks spans of the same start. */
  tracks: Track[];
  whole: Range;
  /** Times of work for the request: all spans and marks but those of the queue. */
  busy: () => Range[];
}

function laidOut(lanes: Lane[]): Laid {
  const tracks = lanes.flatMap(({ stage, bars, marks }) => [stage, bars, marks]);
  const ends = tracks
    .filter((track) => track.spans.length)
    .map(({ spans, starts, reach }) => ({
      start: starts[0]!,
      end: Number.isFinite(reach.at(-1)) ? reach.at(-1)! : spans.at(-1)!.end,
    }));
  const busy = () =>
    lanes
      .filter(({ id }) => id !== "queue")
      .flatMap(({ stage, bars, marks }) => [...stage.spans, ...bars.spans, ...marks.spans]);
  return { lanes, tracks, whole: wholeRange(ends), busy };
}

/** A rectangle: one span, or several that share their pixels. */
export interface Run {
  x: number;
  width: number;
  count: number;
  span: Span;
}

/** The rectangles of a track, in O(pixels) searches for any number of spans. `now`: the end of open spans. */
export function runs({ spans, starts, reach }: Track, on: Scale, now: number): Run[] {
  const found: Run[] = [];
  const to = search(starts, on.end, true);
  let next = search(reach, on.start);
  while (next < to) {
    const span = spans[next++]!;
    const end = endOf(span, now);
    if (end < on.start) continue;
    const x = Math.max(0, on.toX(span.start));
    let edge = Math.max(x + MIN_WIDTH, Math.min(on.width, on.toX(end)));
    const first = next - 1;
    // Merge only spans that are too narrow to tell apart.
    while (edge - x < FINE || next > first + 1) {
      const last = search(starts, Math.min(on.end, on.toTime(edge)), true, next, to);
      if (last === next) break;
      const isAllNarrow = on.toX(reach[last - 1]!) - edge < FINE;
      if (!isAllNarrow && on.toX(endOf(spans[next]!, now)) - on.toX(starts[next]!) >= FINE) break;
      const joined = isAllNarrow ? last : next + 1;
      const far = isAllNarrow ? reach[joined - 1]! : spans[next]!.end;
      edge = Math.min(on.width, Math.max(edge, on.toX(far), on.toX(starts[joined - 1]!) + MIN_WIDTH));
      next = joined;
    }
    found.push(within({ x, width: edge - x, count: next - first, span }, on.width));
  }
  return found;
}

function endOf(span: Span, now: number): number {
  return span.isOpen ? Math.max(span.end, now) : span.end;
}

function within(run: Run, width: number): Run {
  const size = Math.min(run.width, width);
  return { ...run, x: Math.max(0, Math.min(run.x, width - size)), width: size };
}

/** The nearest span to the pointer, of several the shortest, and the number of narrow spans under the pointer. */
export interface Hit {
  span: Span;
  count: number;
}

export function hit(tracks: Track[], x: number, on: Scale, tolerance: number, now: number): Hit | null {
  let best: Span | null = null;
  let bestKey = [Infinity, Infinity];
  let count = 0;
  for (const { spans, starts, reach } of tracks) {
    const last = search(starts, on.toTime(x + tolerance), true) - 1;
    const first = Math.max(search(reach, on.toTime(x - tolerance)), last - MOST_COMPARED);
    for (let index = last; index >= first; index--) {
      const span = spans[index]!;
      const left = on.toX(span.start);
      const right = Math.max(left + MIN_WIDTH, on.toX(endOf(span, now)));
      const away = Math.max(0, left - x, x - right);
      if (away > tolerance) continue;
      if (away < 1 && right - left < FINE) count += 1;
      const key = [away, right - left];
      if (key[0]! < bestKey[0]! || (key[0] === bestKey[0] && key[1]! < bestKey[1]!))
        [best, bestKey] = [span, key];
    }
  }
  return best && { span: best, count: Math.max(1, count) };
}

/** The span before or after another one, by start, then by track. `from`: a span, or a time in µs since acceptance. */
export function neighbour(tracks: Track[], from: Span | number, direction: 1 | -1): Span | null {
  const moment = typeof from === "number" ? from : from.start;
  const at = typeof from === "number" ? null : placeOf(tracks, from);
  const found = tracks.map((track, rank) => {
    if (!at) return direction > 0 ? search(track.starts, moment, true) : search(track.starts, moment) - 1;
    if (rank === at.rank) return at.index + direction;
    const isAfter = rank > at.rank;
    if (direction > 0) return search(track.starts, moment, !isAfter);
    return search(track.starts, moment, !isAfter) - 1;
  });
  let best: Span | null = null;
  found.forEach((index, rank) => {
    const span = tracks[rank]!.spans[index];
    if (!span) return;
    // Of equal starts, take the first track going forwards, and the last going backwards.
    const isNearer = !best || (direction > 0 ? span.start < best.start : span.start >= best.start);
    if (isNearer) best = span;
  });
  return best;
}

/** The span of these tracks that is nearest to a time. */
export function nearest(tracks: Track[], time: number): Span | null {
  let best: Span | null = null;
  let least = Infinity;
  for (const { spans, starts } of tracks) {
    const after = search(starts, time, true);
    for (const span of [spans[after - 1], spans[after]]) {
      if (!span) continue;
      const away = Math.max(0, span.start - time, time - span.end);
      if (away < least) [best, least] = [span, away];
    }
  }
  return best;
}

/** Find a span. Updates make some spans again, so a span of equal title and start counts as the same. */
function placeOf(tracks: Track[], span: Span): { rank: number; index: number } | null {
  for (let rank = 0; rank < tracks.length; rank++) {
    const { spans, starts } = tracks[rank]!;
    for (let index = search(starts, span.start); starts[index] === span.start; index++) {
      const each = spans[index]!;
      if (each === span || (span.title !== null && each.title === span.title)) return { rank, index };
    }
  }
  return null;
}
