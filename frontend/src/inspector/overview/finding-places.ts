/** The panel and the hue of each finding. */
import type { StageId } from "../../trace/stages";
import type { FindingKind } from "../../trace/findings/finding";
import type { PanelName } from "../panels";

export const PLACES: Record<FindingKind, { panel: PanelName; stage: StageId }> = {
  failed: { panel: "Events", stage: "bill" },
  blocked: { panel: "Safety", stage: "safety" },
  withheld: { panel: "Safety", stage: "guard" },
  flagged: { panel: "Safety", stage: "safety" },
  cut: { panel: "Context", stage: "context" },
  stopped: { panel: "Events", stage: "gateway" },
  "stop-text": { panel: "Sampling", stage: "decode" },
  empty: { panel: "Sampling", stage: "decode" },
  resumed: { panel: "Events", stage: "queue" },
  wait: { panel: "Timing", stage: "browser" },
  "wait-queue": { panel: "Batch", stage: "queue" },
  "wait-prefill": { panel: "Batch", stage: "prefill" },
  "wait-check": { panel: "Safety", stage: "safety" },
  batch: { panel: "Batch", stage: "decode" },
  slow: { panel: "Batch", stage: "decode" },
  long: { panel: "Timing", stage: "decode" },
  stall: { panel: "Batch", stage: "decode" },
  preempted: { panel: "Batch", stage: "queue" },
  drafts: { panel: "Guessing", stage: "decode" },
  grammar: { panel: "Grammar", stage: "decode" },
  tool: { panel: "Tools", stage: "decode" },
  cache: { panel: "Cache", stage: "prefill" },
  dropped: { panel: "Context", stage: "context" },
  lossy: { panel: "Tokens", stage: "prompt" },
  odd: { panel: "Sampling", stage: "decode" },
  loop: { panel: "Sampling", stage: "decode" },
  cost: { panel: "Bill", stage: "bill" },
};
