/** The hue of each stage, everywhere the same: equal lightness and chroma, set in theme.css. */
import type { StageId } from "../trace/stages";

export const HUES: Record<StageId, number> = {
  browser: 265,
  gateway: 225,
  safety: 20,
  context: 140,
  tokens: 100,
  queue: 300,
  prefill: 190,
  sampling: 165,
  tools: 245,
  release: 45,
  bill: 70,
};

export function stageColor(id: StageId): string {
  return `oklch(var(--stage-l) var(--stage-c) ${HUES[id]})`;
}
