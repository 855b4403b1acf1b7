/** One request as the lines of a till slip, every figure from its trace. Knows no letters' sizes and no colours. */
import type { BillLine } from "../../protocol/events";
import { STAGES, type StageId } from "../../trace/stages";
import { REDACTED_TEXT } from "../../trace/bytes";
import { surpriseOf } from "../../trace/sampling/surprise";
import { closestCall, oddestWord } from "../../trace/sampling/calls";
import { endText } from "../../trace/compare/figures";
import { count, duration, money, percent } from "../../trace/format";
import { intervalTable } from "../../trace/timing/intervals";
import { messageOf } from "../../trace/context/reading";
import {
  allTokens,
  answerText,
  isCacheKnown,
  isOver,
  numReadInAll,
  usageOf,
  type TraceView,
} from "../../trace/view";

export interface Item {
  name: string;
  /** At the slip's right edge. */
  figure: string;
  isSmall?: boolean;
  isTotal?: boolean;
}

export interface Section {
  title: string;
  items: Item[];
  note?: string;
}

export interface Receipt {
  requestId: string;
  model: string;
  /** In UTC. */
  date: string;
  question: string;
  answer: string;
  sections: Section[];
  /** Each token's surprise in bits; null: not reported. */
  bits: (number | null)[];
  end: string;
}

export const UNKNOWN = "unknown";

const KINDS: Record<BillLine["kind"], string> = {
  uncached_input: "Prompt, computed",
  cache_read: "Prompt, from the cache",
  cache_write_5m: "Cache write, 5 minutes",
  cache_write_1h: "Cache write, 1 hour",
  output: "Answer",
};

export function receiptOf(view: TraceView, requestId: string): Receipt {
  const { accepted } = view;
  return {
    requestId,
    model: accepted?.model ?? UNKNOWN,
    date: accepted ? dateOf(accepted.accepted_unix_us) : UNKNOWN,
    question: messageOf(view) ?? "The trace does not record the question.",
    answer: answerText(view) === REDACTED_TEXT ? "" : answerText(view),
    sections: [tokens(view), draws(view), times(view), prices(view)],
    bits: allTokens(view).map(surpriseOf),
    end: isOver(view) ? endText(view) : "still being written",
  };
}

function dateOf(unixUs: number): string {
  return `${new Date(unixUs / 1000).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

function tokens(view: TraceView): Section {
  const { prompt, bill } = view;
  const cached = cachedTokens(view);
  const spared = sparedNano(view);
  const items: Item[] = [
    { name: "Prompt", figure: prompt ? count(numReadInAll(view)) : UNKNOWN },
    { name: "from the cache", figure: cached === null ? UNKNOWN : count(cached), isSmall: true },
    { name: "Answer", figure: count(allTokens(view).length) },
  ];
  if (spared) items.push({ name: "Saved by the cache", figure: money(spared, bill!.currency) });
  return { title: "Tokens", items };
}

/** Null: not reported. */
function cachedTokens(view: TraceView): number | null {
  const usage = usageOf(view);
  if (usage) return isCacheKnown(view) ? usage.cache_read : null;
  return view.cache?.num_cached_tokens ?? null;
}

/** The extra cost of the cached tokens if they were computed; null: a price is not on the bill. */
function sparedNano({ bill }: TraceView): number | null {
  const line = (kind: BillLine["kind"]) => bill?.lines.find((each) => each.kind === kind);
  const [computed, cached] = [line("uncached_input"), line("cache_read")];
  return computed && cached ? cached.num_tokens * (computed.unit_price_nano - cached.unit_price_nano) : null;
}

function draws(view: TraceView): Section {
  const [close, odd] = [closestCall(view), oddestWord(view)];
  const items: Item[] = [{ name: "Closest call", figure: close ? `token ${close.position + 1}` : UNKNOWN }];
  for (const each of close ? [close.first, close.second] : [])
    items.push({ name: `“${each.name}”`, figure: percent(each.chance), isSmall: true });
  items.push({ name: "Oddest word", figure: odd ? `token ${odd.position + 1}` : UNKNOWN });
  if (odd)
    items.push({
      name: `“${odd.name}”, ${odd.bits.toFixed(1)} bits`,
      figure: percent(odd.chance),
      isSmall: true,
    });
  return { title: "Draws", items };
}

const BESIDE = "*";

/** The stages in the order of the request's path; stages that ran beside others count for nothing in the total. */
function times(view: TraceView): Section {
  const table = intervalTable(view);
  const items: Item[] = [];
  for (const { id, label } of STAGES)
    for (const isBeside of [false, true]) {
      const spent = spentIn(table.intervals, id, isBeside);
      if (spent > 0) items.push({ name: label + (isBeside ? BESIDE : ""), figure: duration(spent) });
    }
  if (table.unexplained > 0)
    items.push({ name: "Not measured", figure: duration(table.unexplained), isSmall: true });
  const total = table.intervals.reduce(
    (sum, each) => sum + (each.isBeside ? 0 : each.spent),
    table.unexplained,
  );
  items.push({ name: "Total", figure: view.accepted ? duration(total) : UNKNOWN, isTotal: true });
  const hasBeside = table.intervals.some(({ isBeside }) => isBeside);
  return { title: "Time", items, ...(hasBeside && { note: "* beside another stage, not in the total" }) };
}

const spentIn = (intervals: ReturnType<typeof intervalTable>["intervals"], id: StageId, isBeside: boolean) =>
  intervals.reduce(
    (sum, each) => sum + (each.stage === id && each.isBeside === isBeside ? each.spent : 0),
    0,
  );

function prices({ bill }: TraceView): Section {
  if (!bill) return { title: "Price", items: [{ name: "Total", figure: UNKNOWN, isTotal: true }] };
  const lines = bill.lines.filter(({ num_tokens }) => num_tokens > 0);
  const items: Item[] = lines.map(({ kind, num_tokens, amount_nano }) => ({
    name: `${KINDS[kind]}, ${count(num_tokens)}`,
    figure: money(amount_nano, bill.currency),
  }));
  const total = bill.lines.length ? money(bill.total_nano, bill.currency) : "unpriced";
  return { title: "Price", items: [...items, { name: "Total", figure: total, isTotal: true }] };
}
