/** Work that is done once an element has come into sight. */
import type { Attachment } from "svelte/attachments";

export function whenSeen(work: () => void): Attachment {
  return (element) => {
    const watch = new IntersectionObserver((entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      watch.disconnect();
      work();
    });
    watch.observe(element);
    return () => watch.disconnect();
  };
}
