/** Keys of compared traces: of their timelines and of their tokens beside each other. */
import type { Binding } from "../../ui/keys";
import type { AlignedView } from "./aligned-view.svelte";

const STEP = 0.2;

export const ALIGNED_KEYS: readonly Binding<AlignedView>[] = [
  { keys: ["w", "=", "+"], says: "Zoom in", run: (view) => view.zoomIn() },
  { keys: ["s", "-"], says: "Zoom out", run: (view) => view.zoomOut() },
  { keys: ["a", "ArrowLeft"], says: "Move left", run: (view) => view.panByShare(-STEP) },
  { keys: ["d", "ArrowRight"], says: "Move right", run: (view) => view.panByShare(STEP) },
  { keys: ["f", "0"], says: "Show the whole requests", run: (view) => view.show(null) },
];

/** The tokens of one side; the other side's partner is chosen with each. */
export const SIDE_KEYS: readonly Binding<{ step: (direction: 1 | -1) => void }>[] = [
  { keys: ["ArrowLeft"], says: "To the token before", run: ({ step }) => step(-1) },
  { keys: ["ArrowRight"], says: "To the next token", run: ({ step }) => step(1) },
];
