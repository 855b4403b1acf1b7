/** The price of each segment of the prompt: its tokens by kind, at the bill's prices. The sums are the bill's. */
import type { BillPosted, Segment, Usage } from "../../protocol/events";
import type { TraceView } from "../view";

type InputKind = "uncached_input" | "cache_read" | "cache_write_5m" | "cache_write_1h";

/** Tokens of one kind that stand side by side. */
export interface Run {
  kind: InputKind;
  start: number;
  end: number;
}

/** The kinds of the tokens that the model read, in their order: found, then written up to each breakpoint, then new. */
export function runsOf(usage: Usage, marks: { num_tokens: number; ttl: "5m" | "1h" }[]): Run[] {
  const runs: Run[] = [];
  let end = 0;
  const add = (kind: InputKind, num: number) => {
    if (num > 0) runs.push({ kind, start: end, end: (end += num) });
  };
  const left = { "5m": usage.cache_write_5m, "1h": usage.cache_write_1h };
  add("cache_read", usage.cache_read);
  for (const { num_tokens, ttl } of [...marks].sort((one, other) => one.num_tokens - other.num_tokens)) {
    const num = Math.min(left[ttl], Math.max(0, num_tokens - end));
    left[ttl] -= num;
    add(`cache_write_${ttl}`, num);
  }
  add("cache_write_5m", left["5m"]);
  add("cache_write_1h", left["1h"]);
  add("uncached_input", usage.uncached_input);
  return runs;
}

export interface Priced {
  /** Cost of each segment, in billionths of the currency's unit. */
  segments: number[];
  /** Cost of what the model read behind the prompt: the beginning of an answer that this one continues. */
  rest: number;
  currency: string;
}

/** The cost of a stretch of what the model read, in billionths of the currency's unit. */
export type CostOf = (start: number, end: number) => number;

/** Null: nothing is billed, the model is unpriced, or the generation has not ended. */
export function costsOf({ generation, cache, bill }: TraceView): CostOf | null {
  if (!generation || !bill?.lines.length) return null;
  const runs = runsOf(generation.usage, cache?.marks ?? []);
  const unit = unitsOf(bill);
  return (start, end) =>
    runs.reduce(
      (sum, run) =>
        sum + Math.max(0, Math.min(end, run.end) - Math.max(start, run.start)) * (unit.get(run.kind) ?? 0),
      0,
    );
}

/** Null where the costs are not known, as with pictures: a server makes such a prompt's tokens in an order of its own. */
export function pricesOf(view: TraceView): Priced | null {
  const { context, bill } = view;
  const cost = costsOf(view);
  if (!context || !bill || !cost || context.segments.some(({ kind }) => kind === "image")) return null;
  const { segments, num_prompt_tokens } = context;
  return {
    segments: segments.map(({ start, end }: Segment) => cost(start, end)),
    rest: cost(num_prompt_tokens, Infinity),
    currency: bill.currency,
  };
}

/** The price of one token of each kind that the bill has. */
export const unitsOf = ({ lines }: BillPosted) =>
  new Map(lines.map(({ kind, unit_price_nano }) => [kind as string, unit_price_nano]));
