/**
 * The scene strip: a slot for each scene. The widest one holds the answer's tokens, evenly spaced.
 *
 * A place on the strip stands for a number of events, so a scene that took no time has a place too. Knows no colours.
 */
import type { TokenSampled } from "../protocol/events";
import { SCENES, type SceneId } from "../trace/journey/scenes";
import type { Segment, Story } from "../trace/journey/story";
import { surpriseOf } from "../trace/sampling/surprise";

export interface Slot {
  scene: SceneId;
  x: number;
  width: number;
  /** Its part of the story; null: the request has not reached it. */
  segment: Segment | null;
}

const GAP = 3;
/** A slot's share of the strip, and its bounds in px; the answer has the rest. */
const SHARE = 0.086;
const [LEAST, MOST] = [24.5, 92];

/** The scenes in the order in which the request reached them; unreached ones follow in the order of all requests. */
export function slots(segments: Segment[], width: number): Slot[] {
  const reached = segments.map(({ scene }) => scene);
  const order = [...reached, ...SCENES.map(({ id }) => id).filter((id) => !reached.includes(id))];
  const least = Math.min(MOST, Math.max(LEAST, width * SHARE));
  const wide = Math.max(least, width - (order.length - 1) * (least + GAP));
  let x = 0;
  return order.sort(laterLast(reached)).map((scene) => {
    const slot = {
      scene,
      x,
      width: scene === "sampling" ? wide : least,
      segment: segments.find((each) => each.scene === scene) ?? null,
    };
    x += slot.width + GAP;
    return slot;
  });
}

/** Compare scenes: two reached ones by the request's own order, any others by the order of all requests. */
function laterLast(reached: SceneId[]): (a: SceneId, b: SceneId) => number {
  const place = (id: SceneId) => SCENES.findIndex((scene) => scene.id === id);
  return (a, b) =>
    reached.includes(a) && reached.includes(b)
      ? reached.indexOf(a) - reached.indexOf(b)
      : place(a) - place(b);
}

/** The playhead's place, px, when the first `shown` events are shown, the newest of them up to the share `beat`. */
export function placeOf(all: Slot[], story: Story, shown: number, beat = 1): number {
  const slot = all.findLast(({ segment }) => segment && shown > segment.start) ?? all[0];
  if (!slot?.segment || shown <= 0) return 0;
  const { start, end } = slot.segment;
  if (slot.scene === "sampling") {
    const num = story.tokenEnds.length;
    const before = story.numTokens(Math.min(shown, end));
    return slot.x + (slot.width * Math.min(num, Math.max(0, before - 1 + beat))) / Math.max(1, num);
  }
  const done = Math.min(end, shown) - start - 1 + beat;
  return slot.x + (slot.width * Math.max(0, done)) / Math.max(1, end - start);
}

/** Number of events shown when the playhead is at x: from 1 to all that the request has reached. */
export function shownAt(all: Slot[], story: Story, x: number): number {
  const known = all.filter(({ segment }) => segment);
  const slot = known.findLast((each) => x >= each.x) ?? known[0];
  if (!slot?.segment) return 0;
  const share = Math.min(1, Math.max(0, (x - slot.x) / slot.width));
  const { start, end } = slot.segment;
  if (slot.scene === "sampling") {
    const num = story.tokenEnds.length;
    return story.tokenEnds[Math.min(num - 1, Math.floor(share * num))] ?? end;
  }
  return Math.min(end, start + 1 + Math.floor(share * (end - start)));
}

/** One column of the answer in the strip: the most surprising of its tokens. */
export interface Bar {
  x: number;
  width: number;
  /** Share of the strip's height, 0 to 1; null: no probability is known. */
  height: number | null;
  /** Index of its first token. */
  first: number;
}

/** Bits of surprise that fill the strip's height. */
export const MOST_BITS = 6;

/** The columns of the answer, at least two pixels wide. */
export function surpriseBars(tokens: readonly TokenSampled[], width: number): Bar[] {
  const num = Math.min(tokens.length, Math.max(1, Math.floor(width / 2)));
  return Array.from({ length: num }, (_, index) => {
    const first = Math.floor((index * tokens.length) / num);
    const last = Math.floor(((index + 1) * tokens.length) / num);
    let bits: number | null = null;
    for (let at = first; at < last; at++) {
      const each = surpriseOf(tokens[at]!);
      if (each !== null && (bits === null || each > bits)) bits = each;
    }
    const height = bits === null ? null : Math.min(1, bits / MOST_BITS);
    return { x: (index * width) / num, width: width / num, height, first };
  });
}
