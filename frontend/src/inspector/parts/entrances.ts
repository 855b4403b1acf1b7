/** The exhibit that a scene of the journey, or a panel, opens: "Play with this". */
import type { SceneId } from "../../trace/journey/scenes";
import type { PanelName } from "../panels";
import type { Exhibit } from "../../trace/words/terms";

const OF_SCENE: Record<SceneId, Exhibit> = {
  gateway: "gateway",
  context: "context",
  tokens: "tokenizer",
  safety: "safety",
  queue: "batching",
  cache: "cache",
  prefill: "prefill",
  sampling: "sampling",
  release: "streaming",
  bill: "economics",
};

const OF_PANEL: Partial<Record<PanelName, Exhibit>> = {
  Timing: "prefill",
  Gateway: "gateway",
  Safety: "safety",
  Context: "context",
  Memory: "retrieval",
  Files: "retrieval",
  Tokens: "tokenizer",
  Cache: "cache",
  Batch: "batching",
  Layers: "attention",
  Sampling: "sampling",
  Guessing: "guessing",
  Network: "streaming",
  Bill: "economics",
  Tools: "tools",
};

export type Place = SceneId | PanelName;

/** Null: no exhibit shows this place's mechanism. */
export function exhibitOf(place: Place): Exhibit | null {
  const known: Partial<Record<Place, Exhibit>> = { ...OF_SCENE, ...OF_PANEL };
  return known[place] ?? null;
}
