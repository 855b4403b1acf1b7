/** Keys of the list of saved traces, of the selected traces, and of its small forms. */
import { isOverlaid, isTyping, type Binding } from "../ui/keys";

export const LIBRARY_KEYS: readonly Binding<{ search: () => void }>[] = [
  {
    keys: ["/"],
    says: "Search the traces",
    run: ({ search }, event) => (isTyping(event) || isOverlaid() ? false : search()),
  },
];

/** The column that is focused is kept. */
export const ROW_KEYS: readonly Binding<{ go: (direction: 1 | -1) => void }>[] = [
  { keys: ["ArrowUp"], says: "To the trace above", run: ({ go }) => go(-1) },
  { keys: ["ArrowDown"], says: "To the trace below", run: ({ go }) => go(1) },
];

export const SELECTION_KEYS: readonly Binding<{ clear: () => void }>[] = [
  { keys: ["Escape"], says: "Select nothing", run: ({ clear }) => (isOverlaid() ? false : clear()) },
];

export const TAG_KEYS: readonly Binding<{ add: () => boolean | void }>[] = [
  { keys: ["Enter"], says: "Add the tag; again: save", run: ({ add }) => add() },
];

export const NAMING_KEYS: readonly Binding<{ cancel: () => void }>[] = [
  // Its form does it by itself.
  { keys: ["Enter"], says: "Save the view", run: () => false },
  { keys: ["Escape"], says: "Cancel", run: ({ cancel }) => cancel() },
];
