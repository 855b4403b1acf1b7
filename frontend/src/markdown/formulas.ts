/**
 * Formulas in Markdown: `$…$`, `$$…$$`, `\(…\)`, `\[…\]`. A formula holds no blank line, so it never reaches over the end
 * of a finished block; one that is not closed is text. Knows nothing of typesetting.
 */
import type { MarkdownIt, StateBlock, StateInline } from "markdown-it";

interface Sign {
  open: string;
  close: string;
  isDisplay: boolean;
}

const DOLLAR: Sign = { open: "$", close: "$", isDisplay: false };
/** The longer sign first. */
const SIGNS: Sign[] = [
  { open: "$$", close: "$$", isDisplay: true },
  { open: "\\[", close: "\\]", isDisplay: true },
  { open: "\\(", close: "\\)", isDisplay: false },
  DOLLAR,
];

/** A longer one is text: no search for the end of a formula goes on beyond it. */
const MAX_CHARS = 2000;

export type Formula = {
  tex: string;
  isDisplay: boolean;
  /** As it was written, its signs included. */
  source: string;
};

export function formulas(markdown: MarkdownIt): void {
  const alt = ["paragraph", "reference", "blockquote", "list"];
  markdown.block.ruler.before("fence", "formula_block", blockFormula, { alt });
  markdown.inline.ruler.before("escape", "formula", inlineFormula);
}

/** A formula that has its lines to itself: a list or a quote does not begin within it. */
function blockFormula(state: StateBlock, startLine: number, endLine: number, silent: boolean): boolean {
  if (state.sCount[startLine]! - state.blkIndent >= 4) return false;
  const start = state.bMarks[startLine]! + state.tShift[startLine]!;
  const sign = signAt(state.src, start);
  if (!sign?.isDisplay) return false;
  const last = lastLine(state, startLine, endLine, start, sign);
  if (last === null) return false;
  if (silent) return true;
  const lines = state.getLines(startLine, last + 1, state.sCount[startLine]!, false).trim();
  const tex = lines.slice(sign.open.length, -sign.close.length).trim();
  const token = state.push("formula_block", "div", 0);
  token.map = [startLine, last + 1];
  token.meta = { tex, isDisplay: true, source: lines } satisfies Formula;
  state.line = last + 1;
  return true;
}

/** The line that the formula's end closes; null: it is not closed, or empty. */
function lastLine(
  { src, bMarks, tShift, eMarks, sCount, blkIndent }: StateBlock,
  startLine: number,
  endLine: number,
  start: number,
  sign: Sign,
): number | null {
  const within = start + sign.open.length;
  for (let line = startLine; line < endLine; line++) {
    const from = line === startLine ? within : bMarks[line]! + tShift[line]!;
    const isOutside = line > startLine && (from >= eMarks[line]! || sCount[line]! < blkIndent);
    if (isOutside || from - start > MAX_CHARS) return null;
    const end = src.indexOf(sign.close, from);
    if (end < 0) return null;
    if (end >= eMarks[line]!) continue;
    const isAlone = !src.slice(end + sign.close.length, eMarks[line]).trim();
    return isAlone && src.slice(within, end).trim() ? line : null;
  }
  return null;
}

function inlineFormula(state: StateInline, silent: boolean): boolean {
  const { src, pos, posMax } = state;
  const sign = signAt(src, pos);
  if (!sign || (sign === DOLLAR && !mayOpen(src, pos))) return false;
  const start = pos + sign.open.length;
  const end = endOf(src, start, Math.min(posMax, start + MAX_CHARS), sign);
  const tex = end === null ? "" : src.slice(start, end).trim();
  if (end === null || !tex || (sign === DOLLAR && isPrice(tex))) return false;
  state.pos = end + sign.close.length;
  if (silent) return true;
  const token = state.push("formula", "span", 0);
  token.meta = {
    tex,
    isDisplay: sign.isDisplay,
    source: src.slice(pos, state.pos),
  } satisfies Formula;
  return true;
}

function signAt(text: string, at: number): Sign | undefined {
  return SIGNS.find(({ open }) => text.startsWith(open, at));
}

/** The place of the closing sign; a dollar that cannot close ends the search. */
function endOf(text: string, start: number, limit: number, sign: Sign): number | null {
  for (let at = start; at < limit; at++) {
    if (text.startsWith(sign.close, at)) return sign !== DOLLAR || mayClose(text, at) ? at : null;
    if (sign === DOLLAR && text[at] === "\n") return null;
    if (text[at] === "\\") at++;
  }
  return null;
}

/** Dollars as Pandoc reads them: none at a word's end opens, none before a number closes. */
function mayOpen(text: string, at: number): boolean {
  return !/[\p{L}\p{N}$]/u.test(text[at - 1] ?? "") && /\S/.test(text[at + 1] ?? "");
}

function mayClose(text: string, at: number): boolean {
  return /\S/.test(text[at - 1]!) && !/[\p{L}\p{N}$]/u.test(text[at + 1] ?? "");
}

/** "5 and 10": an amount and a word after it, and no sign that mathematics needs. */
function isPrice(tex: string): boolean {
  return /^\d[\d.,]*\s*[^\s\d]/.test(tex) && /\p{L}{2}/u.test(tex) && !/[\\^_=<>{}]/.test(tex);
}
