/** Ties the answer's rendered text to its tokens: which range a token is, which token a point is. */
import { decodeBase64 } from "../trace/bytes";
import type { AnswerPiece } from "../trace/view";

interface Place {
  start: number;
  end: number;
  position: number;
}

/** Further away than a few Markdown signs, a token's text is another one's: the token itself is not rendered. */
const REACH = 24;

/** Each token's place in the rendered text; Markdown signs, which are not rendered, have none. */
export function alignTokens(rendered: string, tokens: AnswerPiece[]): Place[] {
  const decoder = new TextDecoder("utf-8");
  const places: Place[] = [];
  let cursor = 0;
  for (const token of tokens) {
    const text = decoder.decode(decodeBase64(token.piece), { stream: true }).trim();
    if (!text) continue;
    const found = rendered.slice(cursor, cursor + REACH + text.length).indexOf(text);
    if (found < 0) continue;
    const start = cursor + found;
    cursor = start + text.length;
    places.push({ start, end: cursor, position: token.position });
  }
  return places;
}

/** A formula stands for its source as a whole; what stands beside the text (the head of code) is left out. */
const WHOLE = "[data-source]";
const ASIDE = "[data-aside]";

/** One rendering of an answer; made anew when its text or its tokens change. */
export class RenderedTokens {
  private readonly nodes: (Text | Element)[] = [];
  private readonly offsets: number[] = [];
  private readonly places: Place[];

  constructor(root: Node, tokens: AnswerPiece[]) {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT, kindOf);
    let text = "";
    while (walker.nextNode()) {
      const node = walker.currentNode as Text | Element;
      this.nodes.push(node);
      this.offsets.push(text.length);
      text += node instanceof Text ? node.data : node.getAttribute("data-source")!;
    }
    this.places = alignTokens(text, tokens);
  }

  /** The DOM range of one token, or null when it is not rendered. */
  rangeOf(position: number): Range | null {
    const place = this.places.find((each) => each.position === position);
    if (!place) return null;
    const range = document.createRange();
    const first = this.nodeAt(place.start);
    const last = this.nodeAt(place.end - 1);
    const [start, end] = [this.nodes[first]!, this.nodes[last]!];
    if (start instanceof Text) range.setStart(start, place.start - this.offsets[first]!);
    else range.setStart(start, 0);
    if (end instanceof Text) range.setEnd(end, place.end - this.offsets[last]!);
    else range.setEnd(end, end.childNodes.length);
    return range;
  }

  /** The token that a character of the page belongs to, or null. */
  positionAt(node: Node, offset: number): number | null {
    const formula = (node instanceof Element ? node : node.parentElement)?.closest(WHOLE);
    const index = this.nodes.indexOf(formula ?? (node as Text));
    if (index < 0) return null;
    // Which of its tokens made a part of a formula cannot be told: its first one stands for it.
    const at = this.offsets[index]! + (formula ? 0 : offset);
    return this.places.find((place) => at >= place.start && at < place.end)?.position ?? null;
  }

  private nodeAt(offset: number): number {
    return this.offsets.findLastIndex((start) => start <= offset);
  }
}

function kindOf(node: Node): number {
  // A formula's own texts are not what the model wrote.
  if (node instanceof Text)
    return node.parentElement?.closest(WHOLE) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT;
  if ((node as Element).matches(ASIDE)) return NodeFilter.FILTER_REJECT;
  return (node as Element).matches(WHOLE) ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_SKIP;
}

/** The token under a point of the page; null between tokens and where the browser cannot tell. */
export function tokenAt(rendered: RenderedTokens, x: number, y: number): number | null {
  const caret = document.caretPositionFromPoint?.(x, y);
  if (!caret) return null;
  // The caret stands after the character when the point is in its right half.
  return (
    rendered.positionAt(caret.offsetNode, caret.offset) ??
    (caret.offset > 0 ? rendered.positionAt(caret.offsetNode, caret.offset - 1) : null)
  );
}

export function highlight(range: Range | null): void {
  if (!("highlights" in CSS)) return;
  if (range) CSS.highlights.set("linked-token", new Highlight(range));
  else CSS.highlights.delete("linked-token");
}
