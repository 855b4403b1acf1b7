/** A log as the chapters of its journey: a scene when it is first reached, until the next one is. */
import type { AnyEvent } from "../protocol/events";
import { fold } from "./fold";
import { shownMs } from "./pace";
import { sceneOf, type SceneId } from "./scenes";
import { emptyView } from "./view";

type Log = readonly { event: AnyEvent; seq: number }[];
type Steps = readonly { event: AnyEvent }[];

export interface Chapter {
  scene: SceneId;
  /** How many events are shown at its first step. */
  start: number;
  /** How many at its last step before the next chapter; a step of an earlier scene may still follow. */
  end: number;
}

export function chapters(log: Log): Chapter[] {
  const found: Chapter[] = [];
  let view = emptyView();
  log.forEach(({ event, seq }, index) => {
    view = fold(view, event, seq);
    const scene = sceneOf(event, view);
    const num = index + 1;
    if (scene && found.every((each) => each.scene !== scene)) found.push({ scene, start: num, end: num });
    else if (scene && found.at(-1)?.scene === scene) found.at(-1)!.end = num;
  });
  return found;
}

/** How many events are shown at the next step, all of which is worth a look; null: there is none. */
export function nextStep(log: Steps, shown: number): number | null {
  for (let index = shown; index < log.length; index++) if (shownMs(log[index]!.event)) return index + 1;
  return log.length > shown ? log.length : null;
}

export function stepBefore(log: Steps, shown: number): number {
  for (let index = shown - 2; index >= 0; index--) if (shownMs(log[index]!.event)) return index + 1;
  return Math.min(1, log.length);
}
