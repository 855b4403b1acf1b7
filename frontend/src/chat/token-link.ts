/** Ties the answer's rendered text to its tokens: which range a token is, which token a point is. */
import { decodeBase64 } from "../trace/bytes";
import type { TokenSampled } from "../protocol/events";

interface Place {
  start: number;
  end: number;
  position: number;
}

/** Each token's place in the rendered text; Markdown signs, which are not rendered, have none. */
export function alignTokens(rendered: string, tokens: TokenSampled[]): Place[] {
  const decoder = new TextDecoder("utf-8");
  const places: Place[] = [];
  let cursor = 0;
  for (const token of tokens) {
    const text = decoder.decode(decodeBase64(token.piece), { stream: true }).trim();
    if (!text) continue;
    const start = rendered.indexOf(text, cursor);
    // Further away than a few signs: the token itself is not rendered.
    if (start < 0 || start - cursor > 24) continue;
    places.push({ start, end: start + text.length, position: token.position });
    cursor = start + text.length;
  }
  return places;
}

function textNodes(root: Node): Text[] {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const nodes: Text[] = [];
  while (walker.nextNode()) nodes.push(walker.currentNode as Text);
  return nodes;
}

/** The DOM range of one token, or null when it is not rendered. */
export function tokenRange(root: Node, tokens: TokenSampled[], position: number): Range | null {
  const nodes = textNodes(root);
  const place = alignTokens(nodes.map((node) => node.data).join(""), tokens).find(
    (p) => p.position === position,
  );
  if (!place) return null;
  const range = document.createRange();
  let offset = 0;
  for (const node of nodes) {
    const end = offset + node.data.length;
    if (place.start >= offset && place.start < end) range.setStart(node, place.start - offset);
    if (place.end > offset && place.end <= end) {
      range.setEnd(node, place.end - offset);
      return range;
    }
    offset = end;
  }
  return null;
}

/** The token under a point of the page, or null. */
export function tokenAt(root: Node, tokens: TokenSampled[], x: number, y: number): number | null {
  const caret = document.caretPositionFromPoint?.(x, y);
  if (!caret || !root.contains(caret.offsetNode)) return null;
  const nodes = textNodes(root);
  let offset = caret.offset;
  for (const node of nodes) {
    if (node === caret.offsetNode) break;
    offset += node.data.length;
  }
  const places = alignTokens(nodes.map((node) => node.data).join(""), tokens);
  return places.find((place) => offset >= place.start && offset <= place.end)?.position ?? null;
}

export function highlight(range: Range | null): void {
  if (!("highlights" in CSS)) return;
  if (range) CSS.highlights.set("linked-token", new Highlight(range));
  else CSS.highlights.delete("linked-token");
}
