/** The inspector's access to the user's own choice of passages for the next message. Only a chat has it. */
import { getContext, setContext } from "svelte";

export interface Pinning {
  /** True when the conversation still has the file. */
  isOf: (fileId: string) => boolean;
  isPinned: (fileId: string, passage: number) => boolean;
  toggle: (fileId: string, passage: number) => void;
  isWhole: (fileId: string) => boolean;
  toggleWhole: (fileId: string) => void;
}

export const PINNING = Symbol("pinning");

export function offerPinning(pinning: Pinning): void {
  setContext(PINNING, pinning);
}

/** Null where there is no chat, as on a request's own page. */
export function getPinning(): Pinning | null {
  return getContext<Pinning | undefined>(PINNING) ?? null;
}
