/** Tells whether the inspector has a server behind it: an exported page has none, and so no outward links. */
import { createContext } from "svelte";

const [read, write, has] = createContext<{ readonly isThere: boolean }>();

export const provideServer = write;

/** True also outside the inspector. To be called while a component is made. */
export function isServerThere(): boolean {
  return !has() || read().isThere;
}
