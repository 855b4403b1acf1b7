/** A comparison of a period's cost, in words and as a table. Pure. */
import type { RepricedRow, RepricingBody } from "../../protocol/api";
import { count, counted, money } from "../../trace/format";
import { amount, quantity, type Table } from "../../charts/tables/table";

export const PLACEMENTS: Record<NonNullable<RepricingBody["placement"]>, string> = {
  recorded: "as sent",
  none: "none",
  system: "after the system prompt",
  history: "after system prompt and history",
  automatic: "after the whole prompt",
};
export const TIMES: Record<NonNullable<RepricingBody["ttl"]>, string> = {
  recorded: "as sent",
  none: "no promise",
  "5m": "5 minutes",
  "1h": "1 hour",
};

export interface Sum {
  currency: string;
  billed: number;
  least: number;
  most: number;
}

/** Amounts of several currencies are never added up. */
export function sumsOf(rows: RepricedRow[]): Sum[] {
  const found = new Map<string, Sum>();
  for (const row of rows.filter(({ num_requests }) => num_requests)) {
    const sum = found.get(row.currency) ?? { currency: row.currency, billed: 0, least: 0, most: 0 };
    sum.billed += row.billed_nano;
    sum.least += row.least_nano;
    sum.most += row.most_nano;
    found.set(row.currency, sum);
  }
  return [...found.values()];
}

/** "$0.10", or "$0.10 to $0.12" where the traces leave it open. */
export const rangeWords = (least: number, most: number, currency: string) =>
  least === most ? money(least, currency) : `${money(least, currency)} to ${money(most, currency)}`;

/** "+$0.10 (+12 %)". */
export function differenceWords(billed: number, now: number, currency: string): string {
  const nano = now - billed;
  const sign = nano > 0 ? "+" : nano < 0 ? "−" : "±";
  const share = billed ? ` (${sign}${Math.round((Math.abs(nano) / billed) * 100)} %)` : "";
  return `${sign}${money(Math.abs(nano), currency)}${share}`;
}

export function unknownWords(rows: RepricedRow[]): string {
  const num = rows.reduce((sum, { num_unknown }) => sum + num_unknown, 0);
  if (!num) return "Every request of the period is compared.";
  return `${counted(num, "request")} ${num === 1 ? "is" : "are"} not compared. A request is left out where it embeds texts, calls tools, has no whole trace, or has no price in this currency.`;
}

const KINDS = {
  uncached_input: "computed",
  cache_read: "read from the cache",
  cache_write_5m: "written, 5 minutes",
  cache_write_1h: "written, 1 hour",
  output: "output",
} as const;

/** The table in two that fit a page: the costs, and the tokens. A file has both in one. */
export function partsOf({ columns, rows }: Table): { costs: Table; tokens: Table } {
  const kinds = new Set<string>(Object.values(KINDS));
  const as = (name: string, isShown: (column: string) => boolean): Table => ({
    name,
    columns: columns.filter((each) => isShown(each.name)),
    rows: rows.map((row) => row.filter((_, index) => isShown(columns[index]!.name))),
  });
  return {
    costs: as("costs", (name) => !kinds.has(name)),
    tokens: as("tokens, at most", (name) => kinds.has(name) || ["Model", "User", "Key"].includes(name)),
  };
}

export function tableOf(rows: RepricedRow[], isOfAll: boolean): Table {
  const kinds = Object.keys(KINDS) as (keyof typeof KINDS)[];
  const number = (name: string, inFile?: string) => ({ name, isNumber: true, inFile });
  return {
    name: "re-priced",
    columns: [
      { name: "Model" },
      ...(isOfAll ? [{ name: "User" }] : []),
      { name: "Key" },
      { name: "Currency" },
      number("Requests"),
      number("Billed"),
      number("At least"),
      number("At most"),
      number("Difference", "Difference of the most"),
      number("Not compared", "Requests not compared"),
      ...kinds.map((kind) => number(KINDS[kind], `Tokens ${KINDS[kind]}, at most`)),
    ],
    rows: rows.map((row) => {
      const as = (nano: number) => amount(nano, (each) => money(each, row.currency || "USD"));
      return [
        row.model,
        ...(isOfAll ? [row.user] : []),
        row.key || "signed in",
        row.currency || "no price",
        quantity(row.num_requests, count),
        as(row.billed_nano),
        as(row.least_nano),
        as(row.most_nano),
        amount(row.most_nano - row.billed_nano, () =>
          differenceWords(row.billed_nano, row.most_nano, row.currency || "USD"),
        ),
        quantity(row.num_unknown, count),
        ...kinds.map((kind) => quantity(row.most[kind], count)),
      ];
    }),
  };
}
