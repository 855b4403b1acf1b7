/** Tints an answer by how surprising each token was: neighbours of one step are one range. */
import { surpriseStep } from "../trace/coloring";
import type { TokenSampled } from "../protocol/events";
import { Painted } from "./highlights";
import type { RenderedTokens } from "./token-link";

/** The sure tokens, step 0, stay plain. */
export const STEPS = [1, 2, 3, 4, 5] as const;

/** Characters of the rendered text, all of one step. */
export interface Run {
  step: number;
  start: number;
  end: number;
}

/** The places' runs; steps: of each token by its position. Tokens of step 0, or not known, are in none. */
export function runsOf(
  places: readonly { start: number; end: number; position: number }[],
  stepAt: (position: number) => number | null,
): Run[] {
  const runs: Run[] = [];
  let last: Run | null = null;
  for (const { start, end, position } of places) {
    const step = stepAt(position) ?? 0;
    if (last && last.step === step) last.end = end;
    else runs.push((last = { step, start, end }));
  }
  return runs.filter(({ step }) => step > 0);
}

interface Kept extends Run {
  node: Node;
  range: StaticRange;
}

/** One answer's tint. */
export class Glass {
  private readonly layers = STEPS.map((step) => ({ step, painted: new Painted(`glass-${step}`) }));
  private kept: Kept[] = [];

  /** What is painted as it was keeps its range. upTo: the last position that is tinted; null: all are. */
  paint(rendered: RenderedTokens, tokens: readonly TokenSampled[], upTo: number | null): void {
    const first = tokens[0]?.position ?? 0;
    const stepAt = (position: number) => {
      const token = upTo === null || position <= upTo ? tokens[position - first] : undefined;
      return token?.position === position ? surpriseStep(token) : null;
    };
    const before = this.kept;
    this.kept = runsOf(rendered.places, stepAt).map((run, index) => {
      const [node, offset] = rendered.pointAt(run.start);
      const old = before[index];
      const isSame = old?.node === node && old.step === run.step && old.start === run.start;
      if (isSame && old.end === run.end && old.range.endContainer.isConnected) return old;
      const [endContainer, endOffset] = rendered.endPointAt(run.end);
      const range = new StaticRange({
        startContainer: node,
        startOffset: offset,
        endContainer,
        endOffset,
      });
      return { ...run, node, range };
    });
    this.show();
  }

  clear(): void {
    this.kept = [];
    this.show();
  }

  private show(): void {
    for (const { step, painted } of this.layers)
      painted.set(this.kept.filter((run) => run.step === step).map(({ range }) => range));
  }
}
