/** Keys that hold on every page. */
import { isTyping, type Binding } from "../ui/keys";

export interface Page {
  newChat: () => void;
  help: () => void;
  /** False: there is no menu to be closed. */
  closeMenu: () => boolean;
}

export const APP_KEYS: readonly Binding<Page>[] = [
  { keys: ["Mod+k"], says: "New chat", run: ({ newChat }) => newChat() },
  {
    keys: ["?"],
    says: "This sheet",
    run: ({ help }, event) => (isTyping(event) ? false : help()),
  },
  { keys: ["Escape"], says: "Close what is open, the latest first", run: ({ closeMenu }) => closeMenu() },
];
