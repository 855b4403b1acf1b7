/** What was written in a conversation and is nowhere else yet, kept for this tab: a reload loses none of it. */
import type { Unsent } from "./chat.svelte";

export interface Written {
  draft: string;
  unsent: Unsent[];
}

const NOTHING: Written = { draft: "", unsent: [] };
const LEFT =
  "The page was left while it was being sent, so it may have arrived: look whether it stands above before you try again.";

/** conversation: null for the one that has not begun. */
const keyOf = (conversation: string | null) => `sightglass-written-${conversation ?? ""}`;

export function keepWritten(conversation: string | null, written: Written): void {
  const key = keyOf(conversation);
  if (!written.draft && !written.unsent.length) return sessionStorage.removeItem(key);
  try {
    sessionStorage.setItem(key, JSON.stringify(written));
  } catch {
    // More than the browser keeps: the page still has it.
  }
}

export function writtenIn(conversation: string | null): Written {
  const kept = sessionStorage.getItem(keyOf(conversation));
  const { draft, unsent } = kept ? (JSON.parse(kept) as Written) : NOTHING;
  const refusal = { message: LEFT, setting: null };
  return { draft, unsent: unsent.map((each) => ({ ...each, refusal: each.refusal ?? refusal })) };
}
