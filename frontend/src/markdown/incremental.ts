/** Streaming Markdown: only the last open block is rendered again; finished blocks stay as they are. */
import DOMPurify from "dompurify";
import MarkdownIt from "markdown-it";

const markdown = new MarkdownIt({ html: false, linkify: true });

DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "A") {
    node.setAttribute("target", "_blank");
    node.setAttribute("rel", "noopener noreferrer nofollow");
  }
});

/** Model output is untrusted: no HTML of its own, no images (they would call out), no forms. */
export function renderMarkdown(text: string): string {
  return DOMPurify.sanitize(markdown.render(text), {
    FORBID_TAGS: ["img", "form", "input", "style"],
    ADD_ATTR: ["target"],
  });
}

export class IncrementalMarkdown {
  private frozen: string[] = [];
  private frozenLength = 0;
  private source = "";

  /** Blocks of HTML for the text so far. A text that does not continue the last one starts anew. */
  update(text: string): string[] {
    if (!text.startsWith(this.source)) {
      this.frozen = [];
      this.frozenLength = 0;
    }
    this.source = text;
    this.freeze();
    const tail = text.slice(this.frozenLength);
    return tail ? [...this.frozen, renderMarkdown(tail)] : [...this.frozen];
  }

  /** A block is finished when another has begun after it. */
  private freeze(): void {
    const tail = this.source.slice(this.frozenLength);
    const starts = markdown
      .parse(tail, {})
      .filter((token) => token.level === 0 && token.map && token.nesting >= 0)
      .map((token) => token.map![0]);
    const last = starts.at(-1);
    if (!last) return;
    const length = tail.split("\n").slice(0, last).join("\n").length + 1;
    this.frozen = [...this.frozen, renderMarkdown(tail.slice(0, length))];
    this.frozenLength += length;
  }
}
