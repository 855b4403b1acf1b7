/** The longest wait for an answer's first token. */
import { SCENES, type SceneId } from "./scenes";
import { sceneTime } from "./scene-times";
import type { TraceView } from "../view";

export interface Wait {
  scene: SceneId;
  title: string;
  /** µs, as the strip has it. */
  spent: number;
}

/** The scene before the first token that took longest; null: none has a time yet. */
export function longestWait(view: TraceView): Wait | null {
  let found: Wait | null = null;
  for (const { id, title } of SCENES) {
    const spent = sceneTime(view, id);
    if (spent !== null && spent > (found?.spent ?? 0)) found = { scene: id, title, spent };
  }
  return found;
}
