/** The moments of a clip of about ten seconds: which part of a log each frame shows. Knows nothing of pictures. */
import type { AnyEvent } from "../../protocol/events";
import type { SceneId } from "../../trace/journey/scenes";
import { storyOf } from "../../trace/journey/story";

export type Log = readonly { event: AnyEvent; seq: number }[];

export interface Moment {
  kind: "title" | "scene" | "words" | "end";
  /** Number of events shown. */
  shown: number;
  /** The progress of the newest event's showing, 0 to 1. */
  beat: number;
  /** The scene of the path; null at the title and the end. */
  scene: SceneId | null;
}

/** Milliseconds. */
const [TITLE, SCENE, FIRST_DRAW, WORDS, END] = [1000, 700, 1400, 2600, 1800];
/** Share of a scene's time in which it moves; then it rests. */
const MOVING = 0.7;
/** While the answer is written they are one picture. */
const WRITING: readonly SceneId[] = ["sampling", "release"];

/** One moment for each frame at this rate, in order; empty: there is nothing to show. */
export function clipPlan(log: Log, perSecond: number): Moment[] {
  if (!log.length) return [];
  const numFrames = (ms: number) => Math.max(1, Math.round((ms / 1000) * perSecond));
  const shares = (ms: number) => Array.from({ length: numFrames(ms) }, (_, at) => (at + 1) / numFrames(ms));
  const found = storyOf(log).chapters;
  const scene = (id: SceneId, shown: number, ms: number): Moment[] =>
    shares(ms).map((share) => ({ kind: "scene", shown, beat: Math.min(1, share / MOVING), scene: id }));
  const words = written(log);
  const before = found.filter(({ scene: id }) => !WRITING.includes(id) && id !== "bill");
  const after = found.filter(({ scene: id }) => id === "bill");
  return [
    ...shares(TITLE).map((): Moment => ({ kind: "title", shown: 0, beat: 1, scene: null })),
    ...before.flatMap(({ scene: id, end }) => scene(id, end, SCENE)),
    ...(words.length ? scene("sampling", words[0]!, FIRST_DRAW) : []),
    ...(words.length ? shares(WORDS) : []).map((share): Moment => ({
      kind: "words",
      shown: words[Math.round(share * (words.length - 1))]!,
      beat: 1,
      scene: "sampling",
    })),
    ...after.flatMap(({ scene: id, end }) => scene(id, end, SCENE)),
    ...shares(END).map((): Moment => ({ kind: "end", shown: log.length, beat: 1, scene: null })),
  ];
}

/** The number of events shown at each token. */
function written(log: Log): number[] {
  return log.flatMap(({ event }, index) => (event.type === "token.sampled" ? [index + 1] : []));
}
