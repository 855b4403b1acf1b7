/**
 * The clock of a narration. Each sentence has the time that reading it takes. Meanwhile the moment shown moves through
 * the stretch of the trace that the sentence describes. Knows nothing of drawing.
 */
import type { TraceView } from "../../trace/view";

export interface Line {
  text: string;
  /** Start and end of the described stretch of the trace, µs since acceptance. */
  start: number;
  end: number;
}

/** An exhibit's short sentences on a request, with that request's own numbers. */
export type Narration = (view: TraceView) => Line[];

export function line(text: string, start: number, end: number): Line {
  return { text, start, end: Math.max(start, end) };
}

/** A sentence on a missing record. */
export function missing(view: TraceView, what: string): Line[] {
  return [line(`The trace of this request does not record ${what}.`, 0, view.at)];
}

/** The reader's place in the text. */
export interface Place {
  index: number;
  /** Share of the sentence, 0 to 1. */
  share: number;
}

const MS_PER_CHAR = 45;
const LEAST_MS = 2200;

export function readingMs({ text }: Line): number {
  return Math.max(LEAST_MS, text.length * MS_PER_CHAR);
}

/** The reader's place after some time, at most the end of the last sentence. */
export function advance(lines: readonly Line[], place: Place, ms: number): Place {
  let { index, share } = place;
  let left = ms;
  while (index < lines.length) {
    const whole = readingMs(lines[index]!);
    const needed = (1 - share) * whole;
    if (left < needed || index === lines.length - 1)
      return { index, share: Math.min(1, share + left / whole) };
    left -= needed;
    index += 1;
    share = 0;
  }
  return { index: 0, share: 0 };
}

export function isAtEnd(lines: readonly Line[], { index, share }: Place): boolean {
  return index >= lines.length - 1 && share >= 1;
}

/** The moment of the trace that is shown, µs since acceptance. */
export function momentAt(lines: readonly Line[], { index, share }: Place): number {
  const line = lines[index];
  return line ? line.start + share * (line.end - line.start) : 0;
}
