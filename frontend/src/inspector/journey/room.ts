/** How high the journey's picture may be for all of it to be in sight. Knows the page's boxes, and nothing of pictures. */

/** Below the picture, px. */
const MARGIN = 12;
/** With less than this the page is scrolled to the journey, and has the room below its header. */
const LEAST = 320;

/** Tells of the room, in px, whenever it changes; ends with what it returns. `caption` grows with what it says. */
export function watchRoom(
  { journey, picture, caption }: { journey: HTMLElement; picture: HTMLElement; caption: HTMLElement },
  tell: (px: number) => void,
): () => void {
  const scroller = scrollerOf(journey);
  const measure = () => {
    const { top } = scroller === document.scrollingElement ? { top: 0 } : scroller.getBoundingClientRect();
    const excess = caption.offsetHeight - Number.parseFloat(getComputedStyle(caption).minHeight);
    const above = picture.getBoundingClientRect().top - top + scroller.scrollTop - Math.max(0, excess || 0);
    const chrome = picture.getBoundingClientRect().top - journey.getBoundingClientRect().top;
    const room = scroller.clientHeight - MARGIN;
    tell(room - above >= LEAST ? room - above : room - chrome - HEADER);
  };
  const observer = new ResizeObserver(measure);
  // What stands above the journey may come later, or break into more lines.
  for (const each of [scroller, ...scroller.children]) observer.observe(each);
  observer.observe(journey.closest(".inspector") ?? journey);
  return () => observer.disconnect();
}

/** What stays at the top while the page is scrolled, px. */
const HEADER = 56;

function scrollerOf(element: HTMLElement): Element {
  for (let each = element.parentElement; each; each = each.parentElement)
    if (/auto|scroll/.test(getComputedStyle(each).overflowY)) return each;
  return document.scrollingElement ?? document.documentElement;
}
