/** Keys of an answer that has the focus. */
import type { Binding } from "../ui/keys";

interface Reading {
  step: (by: number) => void;
  reach: (by: 1 | -1) => boolean | void;
  take: (event: KeyboardEvent) => boolean | void;
}

export const READING_KEYS: readonly Binding<Reading>[] = [
  { keys: ["ArrowLeft"], says: "To the word before", run: ({ step }) => step(-1) },
  { keys: ["ArrowRight"], says: "To the next word", run: ({ step }) => step(1) },
  { keys: ["Home"], says: "To the first word", run: ({ step }) => step(-Infinity) },
  { keys: ["End"], says: "To the last word", run: ({ step }) => step(Infinity) },
  { keys: ["ArrowDown"], says: "To the next word it nearly said", run: ({ reach }) => reach(1) },
  { keys: ["ArrowUp"], says: "To the word before it in the list", run: ({ reach }) => reach(-1) },
  {
    keys: ["Enter"],
    says: "Go to the word's moment, or branch with the chosen word",
    run: ({ take }, event) => take(event),
  },
];

/** Keys while the words it nearly said are open, wherever the focus is. */
export const NEARLY_KEYS: readonly Binding<{ close: () => void }>[] = [
  { keys: ["Escape"], says: "Close the words it nearly said", run: ({ close }) => close() },
];
