/** The bill. While the answer runs it shows counts; once posted, each line has its price. */
import type { BillLine, BillPosted } from "../../protocol/events";
import { count, money, moneyColumn } from "../../trace/format";
import type { Generation } from "../../trace/generations";
import { isOver, type TraceView } from "../../trace/view";
import { box, line, part, text, turn, type Area, type Shape } from "./shapes";
import { fitted, monoWidth, sansWidth } from "./words";

const ROW = 46;
const TOP = 34;
const NAMES: Record<BillLine["kind"], string> = {
  uncached_input: "input, computed",
  cache_read: "input from the cache",
  cache_write_5m: "cache write, 5 minutes",
  cache_write_1h: "cache write, 1 hour",
  output: "output",
};

interface Row {
  key: string;
  name: string;
  num: number;
  /** Null: no price is known. */
  price: string | null;
  amount: string | null;
  share: number;
}

export function billShapes(view: TraceView, area: Area, beat: number): Shape[] {
  const { bill } = view;
  const isNow = view.events.at(-1)?.event.type === "bill.posted";
  const ticking = isNow ? beat : 1;
  const rows = bill?.lines.length ? billedRows(bill, part(ticking, 0, 0.8)) : countedRows(view);
  const said = bill
    ? bill.lines.length
      ? `The bill, prices in force from ${bill.price_version}`
      : "This model has no price: the request is unpriced"
    : isOver(view)
      ? "There is no bill"
      : "Tokens so far; prices come with the bill";
  return [
    text("said", area.x, area.y + 12, fitted(said, area.width, 12, sansWidth), { ink: "soft" }),
    ...rows.flatMap((row, index) =>
      rowShapes(
        row,
        { ...area, y: area.y + TOP + index * ROW },
        bill ? turn(ticking, index, rows.length) : 1,
      ),
    ),
    ...(bill?.lines.length
      ? totalShapes(bill, { ...area, y: area.y + TOP + rows.length * ROW }, part(ticking, 0.2, 0.9))
      : []),
  ];
}

/** The amount of each line, and their total. */
const amountsOf = ({ lines: billed, currency, total_nano: total }: BillPosted): string[] =>
  moneyColumn([...billed.map(({ amount_nano }) => amount_nano), total], currency);

function billedRows(bill: BillPosted, shown: number): Row[] {
  const { lines: billed, currency, total_nano: total } = bill;
  const amounts = amountsOf(bill);
  return billed.map(({ kind, num_tokens, unit_price_nano, amount_nano }, index) => ({
    key: kind,
    name: NAMES[kind],
    num: num_tokens,
    price: money(unit_price_nano, currency),
    amount: amounts[index]!,
    share: total ? (amount_nano / total) * shown : 0,
  }));
}

const COUNTED = ["uncached_input", "cache_read", "output"] as const;
type CountedKind = (typeof COUNTED)[number];

/** The tokens of one kind that a generation has used so far. */
function usedBy({ context, cache, forked, tokens, generation }: Generation, kind: CountedKind): number {
  const numInput = (context?.num_prompt_tokens ?? 0) + (forked?.ids.length ?? 0);
  const numCached = cache?.num_cached_tokens ?? 0;
  const usage = generation?.usage;
  if (kind === "output") return usage?.output ?? tokens.length;
  if (kind === "cache_read") return usage?.cache_read ?? numCached;
  return usage ? usage.uncached_input + usage.cache_write_5m + usage.cache_write_1h : numInput - numCached;
}

function countedRows({ generations }: TraceView): Row[] {
  const entries = COUNTED.map((kind): [BillLine["kind"], number] => [
    kind,
    generations.reduce((sum, each) => sum + usedBy(each, kind), 0),
  ]);
  const most = Math.max(1, ...entries.map(([, num]) => num));
  return entries.map(([kind, num]) => ({
    key: kind,
    name: NAMES[kind],
    num: Math.max(0, num),
    price: null,
    amount: null,
    share: Math.max(0, num) / most,
  }));
}

function rowShapes(
  { key, name, num, price, amount, share }: Row,
  { x, y, width }: Area,
  opacity: number,
): Shape[] {
  const figure = amount ?? count(num);
  const right = x + width;
  const each = price ? `${count(num)} × ${price}` : "tokens";
  const room = width - monoWidth(figure, 14) - 16;
  return [
    text(`${key}-name`, x, y + 12, fitted(name, room, 13, sansWidth), { size: 13, opacity }),
    text(`${key}-each`, x, y + 28, fitted(each, room, 11), { font: "mono", size: 11, ink: "soft", opacity }),
    text(`${key}-figure`, right, y + 14, figure, { font: "mono", size: 14, anchor: "end", opacity }),
    box(`${key}-ground`, { x, y: y + 34, width, height: 4 }, { fill: "wash" }),
    box(`${key}-share`, { x, y: y + 34, width: width * Math.min(1, share), height: 4 }, { fill: "bill" }),
  ];
}

function totalShapes(bill: BillPosted, { x, y, width }: Area, shown: number): Shape[] {
  return [
    line("total-rule", [x, y + 2, x + width, y + 2], { ink: "ink" }),
    text("total", x, y + 24, "Total", { size: 14, isBold: true }),
    text("total-figure", x + width, y + 24, amountsOf(bill).at(-1)!, {
      opacity: shown,
      font: "mono",
      size: 16,
      isBold: true,
      anchor: "end",
    }),
  ];
}
