/** The colours of the answer's tokens: each one's value by a chosen measure, its place on the scale, the legend. */
import { bits as inBits, counted, duration, percent } from "../format";
import type { TokenSampled } from "../../protocol/events";
import { categoryWords } from "../words/safety-words";
import { VERDICT_NAMES, verdictWords, type Verdict } from "../verdicts";
import { surpriseOf } from "./surprise";
import { numKept, type TraceView } from "../view";

export const MEASURES = {
  probability: "Probability",
  entropy: "Entropy",
  rank: "Rank",
  time: "Time",
  cache: "Cache",
  safety: "Safety",
} as const;
export type Measure = keyof typeof MEASURES;

/** A step of the ramp; one of two neutral tints that part neighbours; flagged; left plain; or not known. */
export type Fill = `step-${0 | 1 | 2 | 3 | 4 | 5}` | "group-0" | "group-1" | "flagged" | "plain" | "unknown";

export interface Coloring {
  /** Per token of the view. */
  marks: { fill: Fill; value: string }[];
  legend: { fill: Fill; label: string }[];
  /** The measure, and this answer's own least and greatest value. */
  note: string;
}

interface Scale {
  about: string;
  /** Each token's value; null: not known. A greater value is a later step. */
  values: (number | null)[];
  /** A value beyond the edge is a step further. */
  edges: number[];
  format: (value: number) => string;
  /** Before an edge in the legend: of the step that ends at it, of the step after the last. */
  within: string;
  beyond: string;
  unknown: string;
}

const NOT_REPORTED = "not reported by this server";
const NUM_EDGES = 5;

export function colored(view: TraceView, measure: Measure): Coloring {
  if (measure === "cache") return byCache(view);
  if (measure === "safety") return bySafety(view);
  return byScale(SCALES[measure](view));
}

export function stepOf(value: number, edges: number[]): number {
  return edges.filter((edge) => value > edge).length;
}

/** Each token's time after the token before it, in µs; null where that one is not in the log. */
export function gaps(tokens: TokenSampled[]): (number | null)[] {
  return tokens.map((token, index) => {
    const before = tokens[index - 1];
    return before?.position === token.position - 1 ? Math.max(0, token.at - before.at) : null;
  });
}

const bits = (share: number) => -Math.log2(share);

/** The model's own probabilities at which a token becomes a step more surprising. */
export const SURE_SHARES = [0.9, 0.5, 0.2, 0.05, 0.01];
const SURPRISE_EDGES = SURE_SHARES.map(bits);

/** A token's surprise, as a step of the ramp from 0 (sure) to 5; null: not reported. */
export function surpriseStep(token: Pick<TokenSampled, "logprob">): number | null {
  const surprise = surpriseOf(token);
  return surprise === null ? null : stepOf(surprise, SURPRISE_EDGES);
}

const SCALES: Record<Exclude<Measure, "cache" | "safety">, (view: TraceView) => Scale> = {
  probability: ({ tokens }) => ({
    about: "The model's own probability of each token, before any setting",
    values: tokens.map(surpriseOf),
    edges: SURPRISE_EDGES,
    format: (surprise) => percent(2 ** -surprise),
    within: "≥",
    beyond: "<",
    unknown: NOT_REPORTED,
  }),
  entropy: ({ tokens }) => ({
    about: "The model's uncertainty: the entropy of its own distribution, in bits",
    values: tokens.map(({ entropy }) => entropy),
    edges: [0.1, 0.5, 1, 2, 4],
    format: (nats) => inBits(nats),
    within: "≤",
    beyond: ">",
    unknown: NOT_REPORTED,
  }),
  rank: ({ tokens }) => ({
    about: "Each token's rank among all tokens by the model's own logits",
    values: tokens.map(({ rank }) => rank),
    edges: [1, 2, 5, 10, 20],
    format: String,
    within: "≤",
    beyond: ">",
    unknown: NOT_REPORTED,
  }),
  time: ({ tokens }) => {
    const values = gaps(tokens);
    return {
      about: "Time since the token before; the tokens of one pass come together",
      values,
      edges: ratioEdges(values),
      format: duration,
      within: "≤",
      beyond: ">",
      unknown: "no token before it",
    };
  },
};

/** Between the least and the greatest time, each as many times the one before. */
function ratioEdges(values: (number | null)[]): number[] {
  const known = values.filter((value) => value !== null && value > 0) as number[];
  if (!known.length) return [];
  const [least, greatest] = extremes(known);
  if (least === greatest) return [];
  return Array.from(
    { length: NUM_EDGES },
    (_, index) => least * (greatest / least) ** ((index + 1) / (NUM_EDGES + 1)),
  );
}

/** The extremes of a list that may be longer than a call has arguments. */
function extremes(values: number[]): [number, number] {
  return values.reduce<[number, number]>(
    ([least, greatest], value) => [Math.min(least, value), Math.max(greatest, value)],
    [Infinity, -Infinity],
  );
}

function byScale({ about, values, edges, format, within, beyond, unknown }: Scale): Coloring {
  const known = values.filter((value) => value !== null) as number[];
  const [least, greatest] = extremes(known);
  /** An edge is exact: its trailing zeros say nothing. */
  const short = (edge: number) => format(edge).replace(/\.0+(?=\s)/, "");
  const steps = edges.map((edge, step) => ({
    fill: `step-${step}` as Fill,
    label: `${within} ${short(edge)}`,
  }));
  const last = edges.at(-1);
  if (last !== undefined)
    steps.push({ fill: `step-${edges.length}` as Fill, label: `${beyond} ${short(last)}` });
  else if (known.length) steps.push({ fill: "step-0", label: format(greatest) });
  const isPartial = known.length < values.length;
  return {
    marks: values.map((value) =>
      value === null
        ? { fill: "unknown", value: unknown }
        : { fill: `step-${stepOf(value, edges)}` as Fill, value: format(value) },
    ),
    legend: [...steps, ...(isPartial ? [{ fill: "unknown" as const, label: unknown }] : [])],
    note: known.length
      ? `${about}. In this answer from ${format(least)} to ${format(greatest)}.`
      : `${about}. Not known for any token here.`,
  };
}

/** The newest token's keys and values are computed only with the token after it. */
function byCache(view: TraceView): Coloring {
  const about =
    "The cache block that holds each token's keys and values; later requests can reuse full blocks";
  const { cache, prompt, tokens } = view;
  if (!cache || !prompt)
    return {
      marks: tokens.map(() => ({ fill: "unknown", value: NOT_REPORTED })),
      legend: [{ fill: "unknown", label: NOT_REPORTED }],
      note: `${about}. Not known for any token here.`,
    };
  const size = cache.block_size;
  const numFull = Math.floor((prompt.ids.length + numKept(view) + tokens.length - 1) / size);
  const marks = tokens.map(({ position }) => {
    const block = Math.floor((prompt.ids.length + position) / size);
    return block < numFull
      ? { fill: `group-${block % 2 ? 1 : 0}` as Fill, value: `in block ${block + 1}, full` }
      : { fill: "plain" as Fill, value: `block ${block + 1}, not full` };
  });
  const count = marks.filter(({ fill }) => fill !== "plain").length;
  return {
    marks,
    legend: [
      { fill: "group-0", label: `in full blocks of ${size} tokens; the tint changes with each` },
      { fill: "plain", label: "in a block that is not full" },
    ],
    note: `${about}. ${count} of this answer's ${counted(marks.length, "token")}.`,
  };
}

function bySafety(view: TraceView): Coloring {
  const spans = releasedSpans(view);
  const marks = view.tokens.map((_, index) => {
    const place = spans.findIndex(({ end }) => index < end);
    const span = spans[place];
    if (!span) return { fill: "unknown" as const, value: "not released yet" };
    if (span.verdict === null) return { fill: "unknown" as const, value: "no check recorded" };
    const fill: Fill = span.verdict === "allow" ? `group-${place % 2 ? 1 : 0}` : "flagged";
    return { fill, value: `${VERDICT_NAMES[span.verdict]}, release ${place + 1}` };
  });
  const has = (fill: Fill) => marks.some((mark) => mark.fill === fill);
  const withheld = view.withheld
    ? ` The check withheld ${view.withheld.num_tokens} more (${categoryWords(view.withheld.category)}); no log has them.`
    : "";
  return {
    marks,
    legend: [
      { fill: "group-0", label: "allowed; the tint changes with each release" },
      ...(has("flagged") ? [{ fill: "flagged" as const, label: verdictWords("flag") }] : []),
      ...(has("unknown")
        ? [{ fill: "unknown" as const, label: "no check recorded, or not released yet" }]
        : []),
    ],
    note: `Text that was checked and released together: ${counted(spans.length, "release")}.${withheld}`,
  };
}

interface Span {
  /** One past its last token. */
  end: number;
  /** The gravest verdict on its text; null: no check of it is recorded. */
  verdict: Verdict | null;
}

/** Checks count characters as Python does, by code points. */
function releasedSpans(view: TraceView): Span[] {
  const order = ["allow", "flag", "rewrite", "block"] as const;
  let start = 0;
  // Places in the thinking are counted apart from those in the answer.
  const ofAnswer = view.outputChecks.filter(({ at }) => at > (view.thinkingEnded?.at ?? -Infinity));
  const thinking: Span[] = view.numThinking ? [{ end: view.numThinking, verdict: null }] : [];
  const released = view.releases.map(({ num_tokens, text }) => {
    const end = start + [...text].length;
    const found = ofAnswer.filter((check) => check.start < Math.max(end, start + 1) && check.end > start);
    const last = text ? found : ofAnswer.slice(-1);
    start = end;
    const worst = Math.max(-1, ...last.map(({ verdict }) => order.indexOf(verdict)));
    return { end: num_tokens, verdict: order[worst] ?? null };
  });
  return [...thinking, ...released];
}
