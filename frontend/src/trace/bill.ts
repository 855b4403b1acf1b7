/** The meaning of a bill's lines. */
import type { BillLine, BillPosted } from "../protocol/events";
import { numRead, type TraceView } from "./view";

export interface Range {
  start: number;
  end: number;
}

/** The tokens of a line, as indices into prompt and answer together; null: none, or they cannot be told for certain.
 *
 * The cache held a beginning of the prompt. The tokens written to it on promise follow that, in whole blocks. */
export function coveredBy(view: TraceView, kind: BillLine["kind"]): Range | null {
  // With several generations a line covers tokens of each of them.
  const usage = view.generations.length === 1 ? view.generation?.usage : undefined;
  const numPrompt = view.prompt ? numRead(view) : 0;
  if (!usage || !numPrompt) return null;
  if (kind === "output")
    return usage.output && usage.output === view.tokens.length
      ? { start: numPrompt, end: numPrompt + usage.output }
      : null;
  const order = ["cache_read", "cache_write_1h", "cache_write_5m", "uncached_input"] as const;
  if (order.reduce((sum, each) => sum + usage[each], 0) !== numPrompt) return null;
  const before = order.slice(0, order.indexOf(kind));
  const start = before.reduce((sum, each) => sum + usage[each], 0);
  return usage[kind] ? { start, end: start + usage[kind] } : null;
}

type Posted = Pick<BillPosted, "lines" | "total_nano" | "currency" | "price_version">;

/** True when bill and ledger say the same, line by line, and each adds up. */
export function isEqual(bill: Posted, entry: Posted): boolean {
  return [bill, entry].every(addsUp) && said(bill) === said(entry);
}

function addsUp({ lines, total_nano }: Posted): boolean {
  return (
    lines.every((line) => line.amount_nano === line.num_tokens * line.unit_price_nano) &&
    lines.reduce((sum, { amount_nano }) => sum + amount_nano, 0) === total_nano
  );
}

function said({ lines, total_nano, currency, price_version }: Posted): string {
  const each = lines.map((line) => [line.kind, line.num_tokens, line.unit_price_nano, line.amount_nano]);
  return JSON.stringify([each, total_nano, currency, price_version]);
}
