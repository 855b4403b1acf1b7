/** Prices as a person writes and reads them: amounts per million tokens. Pure. */
import type { KindAmounts, PricePreview, PriceSpan } from "../../protocol/api";
import { count, counted, money } from "../../trace/format";
import { change } from "../../charts/figures/words";

export type Kind = keyof KindAmounts;
export const KINDS: Record<Kind, string> = {
  uncached_input: "Input",
  cache_read: "Cache read",
  cache_write_5m: "5-min write",
  cache_write_1h: "1-hour write",
  output: "Output",
};

/** Billionths per token are thousandths per million tokens. */
const PER_MILLION = 1000;
const WRITTEN = /^(\d{1,9})(?:\.(\d{1,3}))?$/;

/** The price of one token in billionths; a text says why it is none. */
export function nanoOf(written: string): number | string {
  const text = written.trim();
  if (!text) return "Enter a price; 0 means free.";
  const found = WRITTEN.exec(text);
  if (found) return Number(found[1]) * PER_MILLION + Number((found[2] ?? "").padEnd(3, "0"));
  if (text.startsWith("-")) return "A price cannot be negative. Enter 0 for tokens that cost nothing.";
  if (/^\d+\.\d+$/.test(text)) return "Use at most three digits after the point.";
  return "Write a plain number with a point, such as 0.15.";
}

/** The amount per million tokens: 150 is "0.15". */
export function perMillion(nano: number): string {
  return (nano / PER_MILLION).toFixed(nano % 10 ? 3 : 2);
}

export const STATES: Record<string, string> = { past: "past", now: "now", to_come: "to come" };

/** The days of a span: "since 2026-01-01", "from 2026-12-01", "2026-01-01 to 2026-06-30". */
export function daysOf({ first, last, state }: PriceSpan): string {
  if (last !== null) return `${first} to ${last}`;
  return state === "to_come" ? `from ${first}` : `since ${first}`;
}

/** The preview in sentences: what the last days would have cost, and which users it concerns. */
export function sentencesOf(preview: PricePreview): string[] {
  const { num_requests, billed, would_cost, num_unpriced, users, applies_until, doubts } = preview;
  const { currency, nano } = would_cost;
  if (!num_requests) return ["No request of the last 30 days used a token.", ...doubts];
  const told = [costSentence(preview)];
  if (num_unpriced)
    told.push(`${counted(num_unpriced, "request")} of these had no price, and ${its(num_unpriced)} stay so.`);
  const others = billed.filter((amount) => amount.currency !== currency);
  if (others.length)
    told.push(
      `${others.map((other) => money(other.nano, other.currency)).join(" and ")} were billed in another currency. ` +
        "Currencies are not added up.",
    );
  const total = nano - billedIn(preview);
  const [most] = users;
  if (most && total && users.length > 1) {
    const share = (most.would_cost_nano - most.billed_nano) / total;
    if (share > 0.5 && share <= 1) told.push(`Most of it comes from user ${most.name}.`);
  }
  if (applies_until) told.push(`From ${applies_until} on, the prices that are set for that day apply.`);
  return [...told, ...doubts];
}

function costSentence(preview: PricePreview): string {
  const { currency, nano } = preview.would_cost;
  const before = billedIn(preview);
  const would = `The last 30 days would have cost ${money(nano, currency)}`;
  if (!preview.billed.some((amount) => amount.currency === currency)) return `${would}.`;
  if (before === nano) return `${would}, as billed.`;
  return `${would} instead of ${money(before, currency)}, ${change(nano, before)}.`;
}

const its = (num: number) => (num === 1 ? "its bill" : "their bills");

function billedIn({ billed, would_cost }: PricePreview): number {
  return billed.find(({ currency }) => currency === would_cost.currency)?.nano ?? 0;
}

export function unpricedText(num: number): string {
  return num ? `unpriced · ${count(num)} requests in 30 days without a cost` : "unpriced";
}

/** The change of one price, such as "+26 %"; empty: there is none, or no price before. */
export function priceChange(now: number, before: number | undefined): string {
  return before === undefined || before === now ? "" : change(now, before);
}
