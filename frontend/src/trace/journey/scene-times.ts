/** The time of a scene before the first token, as its own events tell it. */
import { checkAtGateway, readings, type SceneId } from "./scenes";
import type { TraceView } from "../view";

/** µs; null: the scene has no time of its own, or it is not recorded yet. */
export function sceneTime(view: TraceView, id: SceneId): number | null {
  return TIMES[id]?.(view) ?? null;
}

const TIMES: Partial<Record<SceneId, (view: TraceView) => number | undefined>> = {
  gateway: ({ gateway }) => gateway?.duration_us,
  context: ({ context }) => context?.duration_us,
  tokens: ({ prompt }) => prompt?.duration_us,
  safety: (view) => checkAtGateway(view)?.duration_us,
  queue: ({ queued, started }) => (started && queued ? started.at - queued.at : undefined),
  prefill: (view) => {
    const chunks = readings(view);
    return chunks.length ? chunks.reduce((sum, { step_us }) => sum + step_us, 0) : undefined;
  },
};
