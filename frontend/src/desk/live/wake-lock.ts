/** Keeps the screen awake while a page is on it, where the browser can. */

/** Begin, and return the way to stop. A browser gives the lock back when its page is hidden, so it is asked for anew. */
export function keepAwake(): () => void {
  let lock: WakeLockSentinel | null = null;
  let isOver = false;

  async function ask(): Promise<void> {
    const isHeld = lock?.released === false;
    if (isOver || isHeld || document.visibilityState !== "visible" || !("wakeLock" in navigator)) return;
    try {
      lock = await navigator.wakeLock.request("screen");
      if (isOver) await lock.release();
    } catch {
      // A battery that runs low: the screen sleeps as it would.
    }
  }

  const onVisible = () => void ask();
  document.addEventListener("visibilitychange", onVisible);
  void ask();
  return () => {
    isOver = true;
    document.removeEventListener("visibilitychange", onVisible);
    void lock?.release();
  };
}
