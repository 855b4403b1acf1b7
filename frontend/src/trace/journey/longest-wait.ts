/** The longest wait of a request: for its answer's first token, or for a worker that takes the answer over. */
import { SCENES, type SceneId } from "./scenes";
import { sceneTime } from "./scene-times";
import { takeOvers } from "../take-overs";
import type { TraceView } from "../view";

export interface Wait {
  /** Null: the pause of a take-over, which no scene shows. */
  scene: SceneId | null;
  /** Of the token that ended a pause, in the generation shown; else null. */
  position: number | null;
  title: string;
  /** µs; of a scene as the strip has it. */
  spent: number;
}

/** The scene before the first token, or the pause, that took longest; null: none has a time yet. */
export function longestWait(view: TraceView): Wait | null {
  let found: Wait | null = null;
  for (const { id, title } of SCENES) {
    const spent = sceneTime(view, id);
    if (spent !== null && spent > (found?.spent ?? 0)) found = { scene: id, position: null, title, spent };
  }
  for (const { label, start, end, position } of takeOvers(view))
    if (end !== null && end - start > (found?.spent ?? 0))
      found = { scene: null, position, title: label, spent: end - start };
  return found;
}
