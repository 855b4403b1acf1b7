/**
 * Keeps a finger's way across an element from being a scroll; down the page it scrolls as ever.
 *
 * With `touch-action: pan-y` a browser scrolls nothing sideways, and still takes such a drag for the beginning of a
 * fling: it then swallows the next tap anywhere on the page, as the one that stops it.
 */
export function sideways(element: GlobalEventHandlers): () => void {
  let from: Touch | null = null;
  /** Null: not known yet. */
  let isOurs: boolean | null = null;
  const begin = ({ touches }: TouchEvent) => {
    from = touches[0] ?? null;
    isOurs = touches.length > 1 ? true : null;
  };
  const move = (event: TouchEvent) => {
    const [to] = event.touches;
    if (isOurs === null && from && to)
      isOurs = Math.abs(to.clientX - from.clientX) >= Math.abs(to.clientY - from.clientY);
    if (isOurs && event.cancelable) event.preventDefault();
  };
  element.addEventListener("touchstart", begin, { passive: true });
  element.addEventListener("touchmove", move, { passive: false });
  return () => {
    element.removeEventListener("touchstart", begin);
    element.removeEventListener("touchmove", move);
  };
}
