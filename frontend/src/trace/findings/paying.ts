/** The finding on the largest line of a high bill. */
import type { BillLine } from "../../protocol/events";
import { count, counted, percent } from "../format";
import { usageOf, type TraceView } from "../view";
import { MOST, type Finding } from "./finding";

/** Least tokens of a line that makes a bill high. */
const COSTLY_TOKENS = 256;

/** Least amount of a high bill: a hundredth of the currency's unit, in 10⁻⁹ of the unit. */
const COSTLY_NANO = 10_000_000;

export function payments(view: TraceView): Finding[] {
  const { bill } = view;
  const [dearest] = [...(bill?.lines ?? [])].sort((a, b) => b.amount_nano - a.amount_nano);
  if (!bill || !dearest || bill.total_nano <= 0) return [];
  const share = dearest.amount_nano / bill.total_nano;
  if (share <= MOST || dearest.num_tokens < COSTLY_TOKENS) return [];
  if (dearest.kind === "output" && bill.total_nano < COSTLY_NANO) return [];
  const sentence = `Most of the cost (${percent(share)}) is ${what(dearest, bill.lines, usageOf(view)?.output ?? null)}.`;
  // Usual, so it comes after unusual findings.
  return [{ kind: "cost", sentence, weight: share - MOST }];
}

function what(line: BillLine, lines: BillLine[], numOutput: number | null): string {
  const input = lines.find(({ kind }) => kind === "uncached_input");
  const tokens = counted(line.num_tokens, "token");
  switch (line.kind) {
    case "output":
      return `the answer: ${tokens}${input?.unit_price_nano ? `, each at ${times(line, input)} the price of a prompt token` : ""}`;
    case "uncached_input":
      return `the prompt: ${tokens} computed${numOutput === null ? "" : `, for an answer of ${count(numOutput)}`}`;
    case "cache_read":
      return `the prompt from the cache: ${tokens}, each at a low price`;
    default:
      return `keeping the prompt in the cache, as the client asked: ${tokens}`;
  }
}

function times(line: BillLine, other: BillLine): string {
  const ratio = line.unit_price_nano / other.unit_price_nano;
  return `${Number.isInteger(ratio) ? ratio : ratio.toFixed(1)} times`;
}
