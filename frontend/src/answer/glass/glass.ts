/**
 * The boxes of an answer's tint by surprise: neighbours of one step are one box on each line.
 *
 * Not custom highlights: each change repaints all of them, some ten milliseconds for an answer of 1,000 tokens.
 */
import { surpriseStep } from "../../trace/sampling/coloring";
import type { TokenSampled } from "../../protocol/events";
import type { Part, Place, RenderedTokens } from "../token-link";

/** The sure tokens, step 0, stay plain. */
export const STEPS = [1, 2, 3, 4, 5] as const;

/** Characters of the rendered text, all of one step and in one text node. */
export interface Run<Node> {
  step: number;
  start: number;
  end: number;
  node: Node;
}

/** Tokens of step 0, or not known (null), are in no run. */
export function runsOf<Node>(
  places: readonly Place[],
  stepAt: (position: number) => number | null,
  nodeAt: (offset: number) => Node,
): Run<Node>[] {
  const runs: Run<Node>[] = [];
  for (const { start, end, position } of places) {
    const step = stepAt(position) ?? 0;
    const node = nodeAt(start);
    const last = runs.at(-1);
    if (last?.step === step && last.node === node) last.end = end;
    else runs.push({ step, start, end, node });
  }
  return runs.filter(({ step }) => step > 0);
}

/** The steps by position, up to one; null: all. */
export function stepsOf(
  tokens: readonly TokenSampled[],
  upTo: number | null,
): (position: number) => number | null {
  const first = tokens[0]?.position ?? 0;
  return (position) => {
    const token = upTo === null || position <= upTo ? tokens[position - first] : undefined;
    return token?.position === position ? surpriseStep(token) : null;
  };
}

/** One block of the answer, in pixels from the answer's corner. */
export interface Tint {
  top: number;
  height: number;
  /** One SVG path for each of STEPS, from the block's own top. */
  paths: string[];
}

/** A block's measurements at this width. */
interface Measured {
  width: number;
  boxes: Map<string, string>;
}

/** Measures an answer's boxes: while it grows, only those at its end. */
export class Glass {
  private known = new Map<Element, Measured>();

  /** Boxes have moved within a block that keeps its width. */
  forget(): void {
    this.known.clear();
  }

  /** isGrowing: boxes before the last few runs keep their measured places. */
  tints(
    root: HTMLElement,
    rendered: RenderedTokens,
    stepAt: (position: number) => number | null,
    isGrowing: boolean,
  ): Tint[] {
    if (!isGrowing) this.known.clear();
    const runs = runsOf(rendered.places, stepAt, (offset) => rendered.pointAt(offset)[0]);
    const origin = root.getBoundingClientRect();
    return [...byBlock(runs, root)].map(([block, own]) => {
      const { top, width, height } = block.getBoundingClientRect();
      const known = this.known.get(block);
      const measured = known?.width === width ? known : { width, boxes: new Map<string, string>() };
      this.known.set(block, measured);
      const paths = STEPS.map(() => "");
      own.forEach((run, index) => {
        const key = `${run.step}:${run.start}:${run.end}`;
        const path = measured.boxes.get(key) ?? pathOf(run, rendered, origin.left, top);
        if (index < own.length - NUM_UNSETTLED) measured.boxes.set(key, path);
        paths[run.step - 1] += path;
      });
      return { top: top - origin.top, height, paths };
    });
  }
}

/** Runs at the end of a block that may still break into another line. */
const NUM_UNSETTLED = 8;

function byBlock(runs: Run<Part>[], root: Node): Map<Element, Run<Part>[]> {
  const found = new Map<Element, Run<Part>[]>();
  for (const run of runs) {
    const block = blockOf(run.node, root);
    if (!block) continue;
    const own = found.get(block);
    if (own) own.push(run);
    else found.set(block, [run]);
  }
  return found;
}

function blockOf(node: Node, root: Node): Element | null {
  let at: Node | null = node;
  while (at && at.parentNode !== root) at = at.parentNode;
  return at instanceof Element ? at : null;
}

/** The visible part of a box within the one that scrolls it sideways; null: none. */
export function clipped(box: DOMRect, room: DOMRect | null): DOMRect | null {
  if (!room) return box;
  const [left, right] = [Math.max(box.left, room.left), Math.min(box.right, room.right)];
  return right > left ? new DOMRect(left, box.top, right - left, box.height) : null;
}

/** A block of code or a wide table, where it is too wide for the page; null: nothing scrolls it. */
function roomOf(node: Node): DOMRect | null {
  const scroller = node.parentElement?.closest("pre, .wide");
  return scroller && scroller.scrollWidth > scroller.clientWidth ? scroller.getBoundingClientRect() : null;
}

function pathOf(
  { start, end, node }: Run<Part>,
  rendered: RenderedTokens,
  left: number,
  top: number,
): string {
  const range = document.createRange();
  const from = rendered.pointAt(start)[1];
  range.setStart(node, from);
  if (node instanceof Text) range.setEnd(node, Math.min(node.length, from + end - start));
  else range.selectNodeContents(node);
  const room = roomOf(node);
  const boxes = [...range.getClientRects()].map((whole) => {
    const box = clipped(whole, room);
    if (!box) return "";
    const [x, y, width, height] = [box.left - left, box.top - top, box.width, box.height].map((each) =>
      each.toFixed(1),
    );
    return `M${x} ${y}h${width}v${height}h-${width}z`;
  });
  return boxes.join("");
}
