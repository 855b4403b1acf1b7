/** Files that are dropped on an element, or pasted into it. Knows nothing of their fate. */
import type { Attachment } from "svelte/attachments";

/** A pasted text of this length may rather be a file. */
export const LONG_TEXT = 4000;

interface Takers {
  onFiles: (files: File[]) => void;
  /** A long text was pasted, and stands in the field already. */
  onLongText: (text: string) => void;
}

const filesOf = (data: DataTransfer | null) => [...(data?.files ?? [])];

export function takesFiles({ onFiles, onLongText }: Takers): Attachment<HTMLElement> {
  return (element) => {
    const over = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      element.classList.add("dropping");
    };
    const leave = () => element.classList.remove("dropping");
    const drop = (event: DragEvent) => {
      leave();
      const files = filesOf(event.dataTransfer);
      if (!files.length) return;
      event.preventDefault();
      onFiles(files);
    };
    const paste = (event: ClipboardEvent) => {
      const text = event.clipboardData?.getData("text/plain") ?? "";
      const files = filesOf(event.clipboardData);
      if (files.length && !text) {
        event.preventDefault();
        onFiles(files);
      } else if (text.length >= LONG_TEXT) onLongText(text);
    };
    element.addEventListener("dragover", over);
    element.addEventListener("dragleave", leave);
    element.addEventListener("drop", drop);
    element.addEventListener("paste", paste);
    return () => {
      element.removeEventListener("dragover", over);
      element.removeEventListener("dragleave", leave);
      element.removeEventListener("drop", drop);
      element.removeEventListener("paste", paste);
    };
  };
}
