/**
 * The log as a story of scenes, extended event by event: a token costs the same in an answer of any length. It knows
 * no clock and no picture.
 */
import type { AnyEvent } from "../../protocol/events";
import { sceneOf, type SceneId } from "./scenes";

/** One stretch of the scene strip: the events after the first `start` up to the first `end`. */
export interface Segment {
  scene: SceneId;
  start: number;
  end: number;
}

/** A scene when it is first reached, until the next one is. */
export interface Chapter {
  scene: SceneId;
  /** Number of events shown at its first step. */
  start: number;
  /** Number of events at its last step before the next chapter; a step of an earlier scene may still follow. */
  end: number;
}

export class Story {
  readonly chapters: Chapter[] = [];
  /** The number of events shown at each sampled token. */
  readonly tokenEnds: number[] = [];
  /** The number of events shown when nothing more is generated; null: not known yet. */
  private generated: number | null = null;
  private billed: number | null = null;
  isOver = false;
  length = 0;

  add(event: AnyEvent): void {
    this.length += 1;
    if (event.type === "token.sampled") this.tokenEnds.push(this.length);
    if (event.type === "generation.finished") this.generated = this.length;
    if (event.type === "bill.posted") this.billed = this.length;
    if (event.type === "request.finished" || event.type === "request.failed") this.isOver = true;
    this.enter(sceneOf(event, this.tokenEnds.length > 0));
  }

  private enter(scene: SceneId | null): void {
    const last = this.chapters.at(-1);
    if (scene && this.chapters.every((each) => each.scene !== scene))
      this.chapters.push({ scene, start: this.length, end: this.length });
    else if (scene && last?.scene === scene) last.end = this.length;
  }

  /** Number of sampled tokens in the first `shown` events. */
  numTokens(shown: number): number {
    let [low, high] = [0, this.tokenEnds.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.tokenEnds[middle]! <= shown) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /**
   * Stretches without gaps, in the order in which they were reached. All tokens are one stretch; the releases after
   * the last one are the next, once generation has ended.
   */
  segments(): Segment[] {
    const found: Segment[] = [];
    let start = 0;
    const push = (scene: SceneId, end: number) => {
      if (end <= start) return;
      found.push({ scene, start, end });
      start = end;
    };
    for (const { scene, end } of this.chapters) if (!IN_ANSWER.has(scene)) push(scene, end);
    push("sampling", this.tokenEnds.at(-1) ?? 0);
    const isWritten = this.generated !== null || this.isOver;
    const isLetOut = this.chapters.some(({ scene }) => scene === "release");
    if (isWritten && isLetOut)
      push("release", this.billed ? this.billed - 1 : (this.generated ?? this.length));
    if (this.billed) push("bill", this.length);
    return found;
  }
}

/** The story of a log that is known as a whole. */
export function storyOf(log: readonly { event: AnyEvent }[]): Story {
  const story = new Story();
  for (const { event } of log) story.add(event);
  return story;
}

const IN_ANSWER = new Set<SceneId>(["sampling", "release", "bill"]);
