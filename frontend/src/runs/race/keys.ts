/** Keys of the field in which a race's message is written. */
import type { Binding } from "../../ui/keys";

export const RACE_KEYS: readonly Binding<{ start: () => void }>[] = [
  // With Shift it is a new line.
  { keys: ["Shift+Enter"], says: "New line", run: () => false },
  { keys: ["Enter"], says: "Race", run: ({ start }) => start() },
];
