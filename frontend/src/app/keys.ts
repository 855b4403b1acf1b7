/** Keys that hold on every page. */
import { isTyping, type Binding } from "../ui/keys";

export interface Page {
  newChat: () => void;
  help: () => void;
  /** False: no menu was open. */
  closeMenu: () => boolean;
}

/** The actions on the conversation in the list that has the focus. */
export interface Item {
  /** Moves by this many; the ends stop it. */
  move: (by: 1 | -1) => void;
  openMenu: () => void;
  rename: () => void;
  remove: () => void;
}

export const LIST_KEYS: readonly Binding<Item>[] = [
  { keys: ["ArrowUp"], says: "To the conversation before", run: ({ move }) => move(-1) },
  { keys: ["ArrowDown"], says: "To the next conversation", run: ({ move }) => move(1) },
  {
    keys: ["ArrowRight", "ContextMenu"],
    says: "Its menu",
    run: ({ openMenu }) => openMenu(),
  },
  { keys: ["F2"], says: "Rename", run: ({ rename }) => rename() },
  { keys: ["Delete"], says: "Delete", run: ({ remove }) => remove() },
];

export const APP_KEYS: readonly Binding<Page>[] = [
  { keys: ["Mod+k"], says: "New chat", run: ({ newChat }) => newChat() },
  {
    keys: ["?"],
    says: "This sheet",
    run: ({ help }, event) => (isTyping(event) ? false : help()),
  },
  { keys: ["Escape"], says: "Close what was opened last", run: ({ closeMenu }) => closeMenu() },
];
