/** Reports each change of an element's visibility; a removed element is out of sight. */
import type { Attachment } from "svelte/attachments";

export function inSight(tell: (isInSight: boolean) => void): Attachment {
  return (element) => {
    const watch = new IntersectionObserver((entries) => tell(entries.at(-1)!.isIntersecting));
    watch.observe(element);
    return () => {
      watch.disconnect();
      tell(false);
    };
  };
}
