/** The panel and the hue of each finding. */
import type { StageId } from "../../trace/stages";
import type { FindingKind } from "../../trace/findings/finding";
import type { PanelName } from "../panels";

export const PLACES: Record<FindingKind, { panel: PanelName; stage: StageId }> = {
  failed: { panel: "Events", stage: "bill" },
  blocked: { panel: "Safety", stage: "safety" },
  withheld: { panel: "Safety", stage: "release" },
  flagged: { panel: "Safety", stage: "safety" },
  cut: { panel: "Context", stage: "context" },
  stopped: { panel: "Events", stage: "gateway" },
  "stop-text": { panel: "Sampling", stage: "sampling" },
  empty: { panel: "Sampling", stage: "sampling" },
  resumed: { panel: "Events", stage: "queue" },
  wait: { panel: "Timing", stage: "browser" },
  "wait-queue": { panel: "Batch", stage: "queue" },
  "wait-prefill": { panel: "Batch", stage: "prefill" },
  "wait-check": { panel: "Safety", stage: "safety" },
  batch: { panel: "Batch", stage: "sampling" },
  slow: { panel: "Batch", stage: "sampling" },
  long: { panel: "Timing", stage: "sampling" },
  stall: { panel: "Batch", stage: "sampling" },
  preempted: { panel: "Batch", stage: "queue" },
  drafts: { panel: "Guessing", stage: "sampling" },
  grammar: { panel: "Grammar", stage: "sampling" },
  tool: { panel: "Tools", stage: "tools" },
  cache: { panel: "Cache", stage: "prefill" },
  dropped: { panel: "Context", stage: "context" },
  lossy: { panel: "Tokens", stage: "tokens" },
  odd: { panel: "Sampling", stage: "sampling" },
  loop: { panel: "Sampling", stage: "sampling" },
  cost: { panel: "Bill", stage: "bill" },
};
