/** Sets formulas with KaTeX. Fetched with its style sheet when an answer first holds one. */
import katex from "katex";
import "katex/dist/katex.css";

const OPTIONS = {
  // No links, classes, styles or images of the model's own.
  trust: false,
  strict: "ignore",
  throwOnError: true,
  // A macro that calls itself ends; no box is larger than a page.
  maxExpand: 200,
  maxSize: 20,
  errorColor: "var(--danger)",
} as const;

/** HTML, and MathML for screen readers; null: the formula cannot be set. */
export function typeset(tex: string, displayMode: boolean): string | null {
  try {
    return katex.renderToString(tex, { ...OPTIONS, displayMode });
  } catch {
    return null;
  }
}
