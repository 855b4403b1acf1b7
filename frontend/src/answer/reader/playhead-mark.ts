/** Marks the token at which the inspector stands, and the text after it that has not happened yet. */
import type { TraceView } from "../../trace/view";

export interface Playhead {
  /** Null: none. */
  current: number | null;
  /** The last position that was reached; null: all of it, so that nothing is dimmed. */
  reached: number | null;
}

/** The moment of a trace, for its answer's text. */
export interface Moment {
  view: TraceView;
  /** The selected token; null: the newest. */
  selected: number | null;
  isLive: boolean;
  isAtEnd: boolean;
  isPlaying: boolean;
  isFollowing: boolean;
}

/** Before the first token, reached is the last of those that a fork took over, or -1. */
export function playheadOf({ view, selected, isLive, isAtEnd }: Moment): Playhead {
  const newest = view.tokens.at(-1)?.position ?? null;
  const current = selected ?? (isLive ? null : newest);
  if (isAtEnd) return { current, reached: null };
  return { current, reached: newest ?? (view.forked?.ids.length ?? 0) - 1 };
}

/**
 * The last position that is not dimmed; null: none is dimmed. A followed answer is not dimmed, so that it can be read.
 * Nor is a tinted one at rest on one word.
 */
export function dimmedAfter(moment: Moment, isGlassOn: boolean): number | null {
  if (moment.isFollowing) return null;
  const isAtRest = moment.selected !== null && !moment.isPlaying;
  return isGlassOn && isAtRest ? null : playheadOf(moment).reached;
}
