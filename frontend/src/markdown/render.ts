/** Markdown to HTML that is safe to show. Knows nothing of streaming. */
import DOMPurify from "dompurify";
import MarkdownIt from "markdown-it";
import { formulas, type Formula } from "./formulas";
import { NO_PARTS, type Parts } from "./parts";
import { tasks } from "./tasks";

/** The state that markdown-it keeps between parts of one document: link definitions, the first of a name wins. */
export type Environment = {
  references: Record<string, { title: string; href: string }>;
  /** Sets its formulas and colours its code. */
  parts?: Parts;
  /** True when more text may follow. */
  isOpen?: boolean;
};

// The lines of a poem or an address stay lines, as the model wrote them.
export const markdown = new MarkdownIt({ html: false, linkify: true, breaks: true });
// Only addresses that say so: "main.py" and "e.g." are no links.
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
markdown.use(formulas).use(tasks);

const { escapeHtml } = markdown.utils;
const { rules } = markdown.renderer;

// An image would call another host as soon as it is shown, so it is a link that a person may follow.
rules.image = (tokens, index) => {
  const address = String(tokens[index]!.attrGet("src") ?? "");
  return `<a href="${escapeHtml(address)}">${escapeHtml(tokens[index]!.content || address)}</a>`;
};

// The page has its own first and second headings: the conversation and the answer.
rules.heading_open = rules.heading_close = (tokens, index, options, _env, self) => {
  const token = tokens[index]!;
  const level = Math.min(
    6,
    Number(token.markup === "=" ? 1 : token.markup === "-" ? 2 : token.markup.length) + 2,
  );
  token.tag = `h${level}`;
  return self.renderToken(tokens, index, options);
};

/** Beside the answer's own text: no token of it stands there. */
const ASIDE = "data-aside";

rules.fence = rules.code_block = (tokens, index, _options, environment) => {
  const { content, info } = tokens[index]!;
  const language = info.trim().split(/\s+/)[0]!;
  const { parts, isOpen } = environment as Environment;
  // Colours for each frame in which it grows would cost more than all else: they come when it is finished.
  const isGrowing = isOpen && tokens.slice(index + 1).every(({ nesting }) => nesting < 0);
  const code = (isGrowing ? null : parts?.code(content, language)) ?? escapeHtml(content);
  const kind = language && ` class="language-${escapeHtml(language)}"`;
  const head = `<span>${escapeHtml(language)}</span><button type="button" class="quiet" data-copy ${ASIDE}>Copy</button>`;
  return `<figure class="code"><figcaption>${head}</figcaption><pre tabindex="0"><code${kind}>${code}</code></pre></figure>\n`;
};

rules.table_open = () => `<div class="wide" role="region" aria-label="Table" tabindex="0"><table>\n`;
rules.table_close = () => "</table></div>\n";

rules.formula = (tokens, index, _options, environment) => {
  const formula = tokens[index]!.meta as Formula;
  const html = (environment as Environment).parts?.formula(formula.tex, formula.isDisplay);
  return html ? `<span class="formula" ${sourceOf(formula)}>${html}</span>` : asWritten(formula);
};

rules.formula_block = (tokens, index, _options, environment) => {
  const formula = tokens[index]!.meta as Formula;
  const html = (environment as Environment).parts?.formula(formula.tex, true);
  return html
    ? `<div class="formula" ${sourceOf(formula)}>${html}</div>\n`
    : `<p>${asWritten(formula)}</p>\n`;
};

const sourceOf = ({ source }: Formula) => `data-source="${escapeHtml(source)}"`;
const asWritten = ({ source }: Formula) => escapeHtml(source).replaceAll("\n", "<br>\n");

DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "A") {
    node.setAttribute("target", "_blank");
    node.setAttribute("rel", "noopener noreferrer nofollow");
  }
  // The box of a task is the one field there is, and nothing can be entered.
  if (
    node.tagName === "INPUT" &&
    !(node.getAttribute("type") === "checkbox" && node.hasAttribute("disabled"))
  )
    node.remove();
});

export type Render = (text: string, environment?: Environment) => string;

/** Not yet sanitised. */
export const toHtml: Render = (text, environment = { references: {}, parts: NO_PARTS }) =>
  markdown.render(text, environment);

/** Model output is untrusted: no HTML of its own, no images, no forms, no other schemes than the web's. */
export const renderMarkdown: Render = (text, environment) =>
  DOMPurify.sanitize(toHtml(text, environment), {
    FORBID_TAGS: ["img", "form", "style"],
    // A formula's source would stand beside its spoken form; the page has it already.
    ADD_FORBID_CONTENTS: ["annotation"],
    ADD_ATTR: ["target"],
    ALLOWED_URI_REGEXP: /^(?:https?|mailto):|^[^:]*$/i,
  });
