/** Work that is to be done before the page is painted again. */

/** Frames stop in a hidden tab; events that arrive there are read all the same. */
const HIDDEN_MS = 200;

export function beforeNextPaint(work: () => void): void {
  const timer = setTimeout(run, HIDDEN_MS);
  const frame = requestAnimationFrame(run);
  function run() {
    clearTimeout(timer);
    cancelAnimationFrame(frame);
    work();
  }
}
