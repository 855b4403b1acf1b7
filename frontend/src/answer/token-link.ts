/** Ties the answer's rendered text to its tokens: which range a token is, which token a point is. Knows no colours. */
import { decodeBase64 } from "../trace/bytes";
import type { AnswerPiece } from "../trace/view";

/** A token's place in the rendered text, as characters from its beginning. */
export interface Place {
  start: number;
  end: number;
  position: number;
}

/** Further away than a few Markdown signs, a token's text is another one's: the token itself is not rendered. */
const REACH = 24;

/** The tokens' own texts, without the spaces around them; each is read once, however long the answer becomes. */
class TokenTexts {
  readonly list: string[] = [];
  private readonly decoder = new TextDecoder("utf-8");

  read(tokens: AnswerPiece[]): void {
    for (const { piece } of tokens.slice(this.list.length))
      this.list.push(this.decoder.decode(decodeBase64(piece), { stream: true }).trim());
  }
}

/** Each token's place in a text that grows; Markdown signs, which are not rendered, have none. */
export class Alignment {
  readonly places: Place[] = [];
  private text = "";
  private readonly texts = new TokenTexts();
  /** For each place, the index of its token. */
  private readonly indices: number[] = [];

  /** Both extend the earlier ones, but for the text's last part, which may have changed. */
  update(text: string, tokens: AnswerPiece[]): void {
    // The last matches may have been made too early.
    this.forget(commonLength(this.text, text) - REACH);
    this.text = text;
    this.texts.read(tokens);
    let cursor = this.places.at(-1)?.end ?? 0;
    for (let index = (this.indices.at(-1) ?? -1) + 1; index < tokens.length; index++) {
      const own = this.texts.list[index]!;
      const found = own ? text.slice(cursor, cursor + REACH + own.length).indexOf(own) : -1;
      if (found < 0) continue;
      const start = cursor + found;
      cursor = start + own.length;
      this.places.push({ start, end: cursor, position: tokens[index]!.position });
      this.indices.push(index);
    }
  }

  private forget(from: number): void {
    while (this.places.length && this.places.at(-1)!.end > from) {
      this.places.pop();
      this.indices.pop();
    }
  }
}

function commonLength(before: string, after: string): number {
  if (after.startsWith(before)) return before.length;
  let length = 0;
  while (length < after.length && before[length] === after[length]) length++;
  return length;
}

/** A formula stands for its source as a whole; text beside the answer's own (the head of code) is left out. */
const WHOLE = "[data-source]";
const ASIDE = "[data-aside]";

/** A text of the answer, or a formula. */
export type Part = Text | Element;

const isText = (part: Part): part is Text => part instanceof Text;
const lengthOf = (part: Part): number => (isText(part) ? part.length : part.childNodes.length);

/** A rendered answer; call update when its text or its tokens have changed. */
export class RenderedTokens {
  private nodes: Part[] = [];
  private offsets: number[] = [];
  private readonly indexOf = new Map<Node, number>();
  private readonly alignment = new Alignment();

  constructor(
    private readonly root: Node,
    tokens: AnswerPiece[] = [],
  ) {
    this.update(tokens);
  }

  get places(): readonly Place[] {
    return this.alignment.places;
  }

  /** The tokens go on from those given before. */
  update(tokens: AnswerPiece[]): void {
    this.nodes = [];
    this.offsets = [];
    this.indexOf.clear();
    const walker = document.createTreeWalker(
      this.root,
      NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT,
      kindOf,
    );
    let text = "";
    while (walker.nextNode()) {
      const node = walker.currentNode as Part;
      this.indexOf.set(node, this.nodes.length);
      this.nodes.push(node);
      this.offsets.push(text.length);
      text += isText(node) ? node.data : node.getAttribute("data-source")!;
    }
    this.alignment.update(text, tokens);
  }

  /** The DOM range of one token, or null when it is not rendered. */
  rangeOf(position: number): Range | null {
    const place = this.places[this.placeAt(position)];
    if (place?.position !== position) return null;
    const range = document.createRange();
    range.setStart(...this.pointAt(place.start));
    range.setEnd(...this.endPointAt(place.end));
    return range;
  }

  /** The range of all text rendered after a token; null: none. Before the first one: position -1. */
  after(position: number): StaticRange | null {
    const last = this.nodes.at(-1);
    if (!last) return null;
    const end = this.places[this.placeAt(position)]?.end ?? 0;
    const [startContainer, startOffset] = end ? this.endPointAt(end) : ([this.nodes[0]!, 0] as const);
    if (startContainer === last && startOffset === lengthOf(last)) return null;
    return new StaticRange({ startContainer, startOffset, endContainer: last, endOffset: lengthOf(last) });
  }

  /** The token that a character of the page belongs to, or null. */
  positionAt(node: Node, offset: number): number | null {
    const formula = (node instanceof Element ? node : node.parentElement)?.closest(WHOLE);
    const index = this.indexOf.get(formula ?? node);
    if (index === undefined) return null;
    // It is not known which token made a part of a formula: its first token stands for it.
    const at = this.offsets[index]! + (formula ? 0 : offset);
    const place = this.places[lastIndex(this.places, ({ start }) => start <= at)];
    return place && at < place.end ? place.position : null;
  }

  /** The rendered token this many after it (before it: negative); the nearest end where there is none. */
  neighbour(position: number | null, by: number): number | null {
    const at = position === null ? (by > 0 ? -1 : this.places.length) : this.placeAt(position);
    const index = Math.min(this.places.length - 1, Math.max(0, at + by));
    return this.places[index]?.position ?? null;
  }

  /** Return the place at which a character begins. */
  pointAt(offset: number): [Part, number] {
    const index = lastIndex(this.offsets, (start) => start <= offset);
    const node = this.nodes[index]!;
    return [node, isText(node) ? offset - this.offsets[index]! : 0];
  }

  /** Return the place at which the text before this character ends. */
  endPointAt(offset: number): [Part, number] {
    const [node, before] = this.pointAt(offset - 1);
    return [node, isText(node) ? before + 1 : lengthOf(node)];
  }

  /** Index of this token's place, or of the last rendered one before it; -1: there is none. */
  private placeAt(position: number): number {
    return lastIndex(this.places, (place) => place.position <= position);
  }
}

function kindOf(node: Node): number {
  // A formula's rendered text is not the model's text.
  if (node instanceof Text)
    return node.parentElement?.closest(WHOLE) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT;
  if ((node as Element).matches(ASIDE)) return NodeFilter.FILTER_REJECT;
  return (node as Element).matches(WHOLE) ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_SKIP;
}

/** The last index for which a condition holds that is first true and then false; -1: none. */
function lastIndex<Item>(list: readonly Item[], isBefore: (item: Item) => boolean): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(list[middle]!)) low = middle + 1;
    else high = middle;
  }
  return low - 1;
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
