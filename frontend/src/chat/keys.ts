import { isOverlaid, type Binding } from "../ui/keys";

/** True when a key press sends the message. An Enter that confirms an input method's candidate never does. */
export function isSendKey(
  event: Pick<KeyboardEvent, "key" | "shiftKey" | "isComposing" | "keyCode">,
): boolean {
  // Safari reports the confirming Enter after the composition has ended, with key code 229.
  return event.key === "Enter" && !event.shiftKey && !event.isComposing && event.keyCode !== 229;
}

export const COMPOSER_KEYS: readonly Binding<{ send: (event: KeyboardEvent) => void }>[] = [
  { keys: ["Shift+Enter"], says: "A new line", run: () => false },
  {
    keys: ["Enter"],
    says: "Send the message",
    run: ({ send }, event) => (isSendKey(event) ? send(event) : false),
  },
];

/** The preview of the next request, over the composer. */
export const PREVIEW_KEYS: readonly Binding<{ close: () => void }>[] = [
  { keys: ["Escape"], says: "Close “What will be sent”", run: ({ close }) => close() },
];

/** The border between chat and inspector. */
export const BORDER_KEYS: readonly Binding<{ widen: (steps: number) => void }>[] = [
  { keys: ["ArrowLeft"], says: "Make the inspector wider", run: ({ widen }) => widen(1) },
  { keys: ["ArrowRight"], says: "Make the inspector narrower", run: ({ widen }) => widen(-1) },
  { keys: ["Home"], says: "As wide as it may be", run: ({ widen }) => widen(Infinity) },
  { keys: ["End"], says: "As narrow as it may be", run: ({ widen }) => widen(-Infinity) },
];

/** A message that is changed into a branch, and a conversation's title. */
export const EDIT_KEYS: readonly Binding<{ keep: (event: KeyboardEvent) => void; drop: () => void }>[] = [
  {
    keys: ["Enter"],
    says: "Keep the title, or send the message",
    run: ({ keep }, event) => (isSendKey(event) ? keep(event) : false),
  },
  { keys: ["Escape"], says: "Cancel the change", run: ({ drop }) => drop() },
];

export const CHAT_KEYS: readonly Binding<{ closePanel: () => boolean | void }>[] = [
  {
    keys: ["Escape"],
    says: "Close the inspector",
    run: ({ closePanel }) => (isOverlaid() ? false : closePanel()),
  },
];

/** The candidates of a proposed token, which go round. */
export const STEP_KEYS: readonly Binding<{ move: (by: 1 | -1) => void }>[] = [
  { keys: ["ArrowLeft"], says: "To the candidate before", run: ({ move }) => move(-1) },
  { keys: ["ArrowRight"], says: "To the next candidate", run: ({ move }) => move(1) },
  // Its button handles the key.
  { keys: ["Enter", " "], says: "Take the candidate", run: () => false },
];
