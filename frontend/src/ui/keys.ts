/** Keys and their actions, in tables that handlers and the help sheet share: the sheet lists no key without effect. */

export interface Binding<Context> {
  /** As `KeyboardEvent.key` names them, letters small; "Mod+" before one: with Ctrl or ⌘; "Shift+": with Shift. */
  keys: readonly string[];
  says: string;
  /** False: not this time, and the key is left to others. */
  run: (context: Context, event: KeyboardEvent) => boolean | void;
}

export interface KeyTable {
  title: string;
  /** The place in which the keys hold. */
  where: string;
  bindings: readonly Pick<Binding<never>, "keys" | "says">[];
}

/** A row of elements, and the targets of its keys. */
export interface Row {
  at: number;
  last: number;
  go: (to: number) => void;
}

/** Return true when a key of the table has done something. A key with Shift is also the key without it. */
export function press<Context>(
  bindings: readonly Binding<Context>[],
  event: KeyboardEvent,
  context: Context,
): boolean {
  if (event.altKey || event.isComposing) return false;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const named = (event.ctrlKey || event.metaKey ? "Mod+" : "") + key;
  const found =
    (event.shiftKey && bindings.find(({ keys }) => keys.includes(`Shift+${named}`))) ||
    bindings.find(({ keys }) => keys.includes(named));
  return found ? found.run(context, event) !== false : false;
}

const NAMES: Record<string, string> = {
  ArrowLeft: "←",
  ArrowRight: "→",
  ArrowUp: "↑",
  ArrowDown: "↓",
  Escape: "Esc",
  " ": "Space",
  Mod: "Ctrl or ⌘",
};

/** A key as it stands on the keyboard. */
export function keyLabel(key: string): string {
  const parts = key.split(/\+(?=.)/);
  return parts.map((part) => NAMES[part] ?? (part.length === 1 ? part.toUpperCase() : part)).join(" + ");
}

/** True when a dialog or a menu is open; Escape then closes that. */
export function isOverlaid(): boolean {
  return document.querySelector("dialog[open], :popover-open") !== null;
}

const FIELDS =
  "input:not([type=checkbox], [type=radio], [type=range], [type=file]), textarea, select, [contenteditable]";

/** True when letters pressed here are meant as text. */
export function isTyping({ target }: Event): boolean {
  return target instanceof HTMLElement && target.closest(FIELDS) !== null;
}

/** The entries of a menu, which go round. */
export const MENU_KEYS: readonly Binding<Row>[] = [
  { keys: ["ArrowUp"], says: "To the entry before", run: ({ at, last, go }) => go(at > 0 ? at - 1 : last) },
  { keys: ["ArrowDown"], says: "To the next entry", run: ({ at, last, go }) => go(at === last ? 0 : at + 1) },
  { keys: ["Home"], says: "To the first entry", run: ({ go }) => go(0) },
  { keys: ["End"], says: "To the last entry", run: ({ last, go }) => go(last) },
];
