/** The three modes of memory, in words. */
import type { MemoryMode } from "../../protocol/api";

export const MODES: { mode: MemoryMode["mode"]; label: string; meaning: string }[] = [
  { mode: "off", label: "Off", meaning: "Nothing is saved or used. What is saved stays here." },
  {
    mode: "ask",
    label: "Ask first",
    meaning: "“Remember that …” shows a card, and nothing is saved before you press Save.",
  },
  {
    mode: "on",
    label: "On",
    meaning: "“Remember that …” saves at once, and the chat says so, with Undo.",
  },
];
