/** Keys of an exhibit that plays on the visitor's own request. They lead from sentence to sentence. */
import type { Binding } from "../ui/keys";

export const SENTENCE_KEYS: readonly Binding<{ at: number; last: number; go: (to: number) => void }>[] = [
  { keys: ["ArrowLeft", "ArrowUp"], says: "To the sentence before", run: ({ at, go }) => go(at - 1) },
  { keys: ["ArrowRight", "ArrowDown"], says: "To the next sentence", run: ({ at, go }) => go(at + 1) },
  { keys: ["Home"], says: "To the first sentence", run: ({ go }) => go(0) },
  { keys: ["End"], says: "To the last sentence", run: ({ last, go }) => go(last) },
];
