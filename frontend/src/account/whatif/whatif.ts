/** Questions of what a period would have cost: as they stand in the address, and their answers in words. Pure. */
import type { Amount, WhatIf, WhatIfQuery } from "../../protocol/api";
import { count, counted, money } from "../../trace/format";
import { change, nanoOf } from "../../charts/figures/words";

export type QuestionName = NonNullable<WhatIfQuery["question"]>;

export const QUESTIONS: Record<QuestionName, string> = {
  no_cache: "the cache had been off",
  prices_of: "another model's prices had applied",
  factor: "prices had changed by a factor",
  ttl: "the cache had kept blocks for another time",
};

export interface Question {
  name: QuestionName;
  /** The model whose prices apply. */
  pricesOf: string;
  factor: string;
  /** The one model that the question concerns; empty: all. */
  of: string;
}

const USUAL: Question = { name: "no_cache", pricesOf: "", factor: "2", of: "" };
const MARK = "~";

/** The question in an address's text. A text that means nothing is the usual question. */
export function questionOf(text: string): Question {
  const [name = "", of = "", detail = ""] = text.split(MARK);
  if (!Object.hasOwn(QUESTIONS, name)) return USUAL;
  const known = { ...USUAL, name: name as QuestionName, of };
  if (name === "prices_of") return { ...known, pricesOf: detail };
  return name === "factor" ? { ...known, factor: detail || USUAL.factor } : known;
}

/** The text of a question for an address; empty: the usual one. */
export function textOf({ name, pricesOf, factor, of }: Question): string {
  const detail = name === "prices_of" ? pricesOf : name === "factor" ? factor : "";
  const text = [name, of, detail].join(MARK).replace(/~+$/, "");
  return text === USUAL.name ? "" : text;
}

/** The API's query. asked: the report's query. */
export function whatIfQuery(asked: string, { name, pricesOf, factor, of }: Question): URLSearchParams {
  const query = new URLSearchParams(asked);
  query.set("question", name);
  if (of) query.set("of", of);
  if (name === "prices_of") query.set("prices_of", pricesOf);
  if (name === "factor") query.set("factor", factor);
  return query;
}

/** One line of the answer per currency. */
export interface Line {
  actual: string;
  changed: string;
  difference: string;
}

export function linesOf({ actual, changed }: WhatIf): Line[] {
  const currencies = [...new Set([...actual, ...(changed ?? [])].map(({ currency }) => currency))].sort();
  return currencies.map((currency) => {
    const [before, after] = [nanoOf(actual, currency), changed && nanoOf(changed, currency)];
    return {
      actual: money(before, currency),
      changed: after === null ? "unknown" : money(after, currency),
      difference: after === null ? "" : differenceText(before, after, currency),
    };
  });
}

function differenceText(before: number, after: number, currency: string): string {
  if (before === after) return "no difference";
  const text = money(Math.abs(after - before), currency);
  const share = before ? `, ${change(after, before)}` : "";
  return `${after > before ? "+" : "\u2212"}${text}${share}`;
}

const listed = (amounts: Amount[]) =>
  amounts.map(({ currency, nano }) => money(nano, currency)).join(" and ") || "nothing";

/** Sentences that a reader of the answer must know. */
export function notesOf(answer: WhatIf): string[] {
  const { billed, actual, num_unpriced, num_unpriced_actual, num_requests } = answer;
  const notes = [];
  if (answer.unknown) notes.push(answer.unknown);
  if (listed(billed) !== listed(actual))
    notes.push(
      `${listed(billed)} was billed at the time. The price list has changed for these days since, so both amounts are of today's list.`,
    );
  const of = `of ${counted(num_requests, "request")}`;
  if (num_unpriced)
    notes.push(
      `${count(num_unpriced)} ${of} could not be priced and ${num_unpriced === 1 ? "is" : "are"} in no amount.`,
    );
  else if (num_unpriced_actual)
    notes.push(`${count(num_unpriced_actual)} ${of} had no price; the changed amount includes them.`);
  return notes;
}
