/** Markdown to HTML that is safe to show. Knows nothing of streaming. */
import DOMPurify from "dompurify";
import MarkdownIt from "markdown-it";

/** What markdown-it keeps between the parts of one document: the link definitions, the first of a name wins. */
export type Environment = {
  references: Record<string, { title: string; href: string }>;
};

// The lines of a poem or an address stay lines, as the model wrote them.
export const markdown = new MarkdownIt({ html: false, linkify: true, breaks: true });
// Only addresses that say so: "main.py" and "e.g." are no links.
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false });

// An image would call another host as soon as it is shown, so it is a link that a person may follow.
markdown.renderer.rules.image = (tokens, index) => {
  const { escapeHtml } = markdown.utils;
  const address = String(tokens[index]!.attrGet("src") ?? "");
  return `<a href="${escapeHtml(address)}">${escapeHtml(tokens[index]!.content || address)}</a>`;
};

DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "A") {
    node.setAttribute("target", "_blank");
    node.setAttribute("rel", "noopener noreferrer nofollow");
  }
});

export type Render = (text: string, environment?: Environment) => string;

/** Not yet sanitised. */
export const toHtml: Render = (text, environment = { references: {} }) => markdown.render(text, environment);

/** Model output is untrusted: no HTML of its own, no images, no forms, no other schemes than the web's. */
export const renderMarkdown: Render = (text, environment) =>
  DOMPurify.sanitize(toHtml(text, environment), {
    FORBID_TAGS: ["img", "form", "input", "style"],
    ADD_ATTR: ["target"],
    ALLOWED_URI_REGEXP: /^(?:https?|mailto):|^[^:]*$/i,
  });
