/** Reads a page again and again while it can be seen. */

export const PAUSE_MS = 2000;

/** Calls `load` after each pause, one at a time. Returns what ends it. */
export function whileVisible(load: () => Promise<void>, pauseMs: number): () => void {
  let isEnded = false;
  let timer: ReturnType<typeof setTimeout>;
  const next = () => (timer = setTimeout(() => void again(), pauseMs));
  async function again() {
    if (!document.hidden) await load();
    if (!isEnded) next();
  }
  next();
  return () => {
    isEnded = true;
    clearTimeout(timer);
  };
}
