/** Colours code with highlight.js. Fetched when an answer first holds code; each grammar when its language occurs. */
import "./highlight.css";
import hljs from "highlight.js/lib/core";
import type { LanguageFn } from "highlight.js";

/** Longer code would hold up each frame in which it grows. */
const MAX_CHARS = 20_000;

const GRAMMARS: Record<string, () => Promise<{ default: LanguageFn }>> = {
  bash: () => import("highlight.js/lib/languages/bash"),
  c: () => import("highlight.js/lib/languages/c"),
  cpp: () => import("highlight.js/lib/languages/cpp"),
  csharp: () => import("highlight.js/lib/languages/csharp"),
  css: () => import("highlight.js/lib/languages/css"),
  diff: () => import("highlight.js/lib/languages/diff"),
  go: () => import("highlight.js/lib/languages/go"),
  java: () => import("highlight.js/lib/languages/java"),
  javascript: () => import("highlight.js/lib/languages/javascript"),
  json: () => import("highlight.js/lib/languages/json"),
  php: () => import("highlight.js/lib/languages/php"),
  python: () => import("highlight.js/lib/languages/python"),
  ruby: () => import("highlight.js/lib/languages/ruby"),
  rust: () => import("highlight.js/lib/languages/rust"),
  sql: () => import("highlight.js/lib/languages/sql"),
  typescript: () => import("highlight.js/lib/languages/typescript"),
  xml: () => import("highlight.js/lib/languages/xml"),
  yaml: () => import("highlight.js/lib/languages/yaml"),
};

const ALIASES: Record<string, string> = {
  "c#": "csharp",
  "c++": "cpp",
  console: "bash",
  golang: "go",
  html: "xml",
  js: "javascript",
  jsx: "javascript",
  py: "python",
  python3: "python",
  rb: "ruby",
  rs: "rust",
  sh: "bash",
  shell: "bash",
  svg: "xml",
  ts: "typescript",
  tsx: "typescript",
  yml: "yaml",
  zsh: "bash",
};

/** Null: it has no grammar here. */
function nameOf(language: string): string | null {
  const written = language.toLowerCase();
  const name = Object.hasOwn(ALIASES, written) ? ALIASES[written]! : written;
  return Object.hasOwn(GRAMMARS, name) ? name : null;
}

/** HTML; null: the code is too long, or its grammar is not there. */
export function highlighted(code: string, language: string): string | null {
  const name = nameOf(language);
  if (name === null || code.length > MAX_CHARS || !hljs.getLanguage(name)) return null;
  return hljs.highlight(code, { language: name }).value;
}

/** Rejects where the grammar cannot be fetched; does nothing where there is none. */
export async function fetchGrammar(language: string): Promise<void> {
  const name = nameOf(language);
  if (name !== null && !hljs.getLanguage(name))
    hljs.registerLanguage(name, (await GRAMMARS[name]!()).default);
}
