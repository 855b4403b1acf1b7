/**
 * Following a request that runs: each scene is shown long enough to be seen, while the log runs ahead. Afterwards the
 * tokens come several at a time, so that the picture catches up. Pure: a log and a clock in, the cue out.
 */
import type { SceneId } from "./scenes";
import type { Story } from "./story";

/** The picture on the screen: the first `shown` events, since `heldMs`, for at least `lengthMs`. */
export interface Cue {
  shown: number;
  heldMs: number;
  lengthMs: number;
}

export const FIRST_CUE: Cue = { shown: 0, heldMs: 0, lengthMs: 0 };

/** No scene is on the screen for less. */
export const SCENE_MS = 700;
/** These have more to read. */
const LONG_SCENES_MS: Partial<Record<SceneId, number>> = {
  context: 1000,
  tokens: 1000,
  release: 1200,
  bill: 1200,
};
/** The first draws are shown one by one: the first slowly enough for each of its steps to be seen. */
export const SLOW_TOKENS_MS = [1400, 500, 300];
/** Then the picture changes no faster than bars can glide. */
export const GLIDE_MS = 150;
/** A backlog of tokens melts away at this time constant. */
const DRAIN_MS = 1200;

/** The cue some milliseconds later. */
export function nextCue(story: Story, cue: Cue, elapsedMs: number): Cue {
  const heldMs = cue.heldMs + elapsedMs;
  const next = heldMs < cue.lengthMs ? null : cueAfter(story, cue.shown);
  return next ?? { ...cue, shown: grown(story, cue.shown), heldMs };
}

/** The progress of a cue's showing, 0 to 1. */
export const beatOf = ({ heldMs, lengthMs }: Cue): number => (lengthMs ? Math.min(1, heldMs / lengthMs) : 1);

/** True when all events were shown for their time, and nothing more comes. */
export const isFollowed = (story: Story, cue: Cue): boolean => story.isOver && isCaughtUp(story, cue);

/** True when all events so far were shown for their time. */
export function isCaughtUp(story: Story, { shown, heldMs, lengthMs }: Cue): boolean {
  return heldMs >= lengthMs && shown >= (story.segments().at(-1)?.end ?? 0);
}

/** True when the tokens come at the pace of the ribbon. */
export const isFast = (story: Story, { shown }: Cue): boolean =>
  story.numTokens(shown) > SLOW_TOKENS_MS.length;

/** A scene's later events are shown with it while it is on the screen. Tokens are cues of their own. */
function grown(story: Story, shown: number): number {
  const here = story.segments().find(({ start, end }) => shown > start && shown <= end);
  return here && here.scene !== "sampling" ? here.end : shown;
}

function cueAfter(story: Story, shown: number): Cue | null {
  const next = story.segments().find(({ end }) => end > shown);
  if (!next) return null;
  if (next.scene !== "sampling")
    return { shown: next.end, heldMs: 0, lengthMs: LONG_SCENES_MS[next.scene] ?? SCENE_MS };
  const num = story.numTokens(shown);
  const left = story.tokenEnds.length - num;
  const step = num < SLOW_TOKENS_MS.length ? 1 : Math.max(1, Math.ceil((left * GLIDE_MS) / DRAIN_MS));
  const at = Math.min(story.tokenEnds.length, num + step);
  return { shown: story.tokenEnds[at - 1]!, heldMs: 0, lengthMs: SLOW_TOKENS_MS[num] ?? GLIDE_MS };
}
