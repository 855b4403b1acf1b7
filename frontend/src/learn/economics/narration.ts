/** The request's bill. */
import type { BillLine } from "../../protocol/events";
import { count, counted, money, percent } from "../../trace/format";
import { line, missing, type Line, type Narration } from "../own/reading-clock";

const NAMES: Record<BillLine["kind"], string> = {
  uncached_input: "prompt tokens were computed",
  cache_read: "prompt tokens came from the cache",
  cache_write_5m: "prompt tokens were written to the cache for 5 minutes",
  cache_write_1h: "prompt tokens were written to the cache for 1 hour",
  output: "tokens were written as the answer",
};

export const narrateBill: Narration = (view) => {
  const { bill, generation } = view;
  if (!bill) return missing(view, "a bill");
  if (!bill.lines.length) return [line("This model has no price, so the request cost nothing.", 0, bill.at)];
  const from = generation?.at ?? 0;
  const lines: Line[] = bill.lines.map(({ kind, num_tokens, unit_price_nano, amount_nano }) =>
    line(
      `${count(num_tokens)} ${NAMES[kind]}, at ${money(unit_price_nano, bill.currency)} each: ${money(amount_nano, bill.currency)}.`,
      from,
      bill.at,
    ),
  );
  const price = (kind: BillLine["kind"]) => bill.lines.find((each) => each.kind === kind);
  const [read, computed] = [price("cache_read"), price("uncached_input")];
  if (generation && !generation.is_cache_known)
    lines.push(
      line("The server did not report its cache use: all input is billed as computed.", from, bill.at),
    );
  else if (read && computed) {
    const saved = read.num_tokens * (computed.unit_price_nano - read.unit_price_nano);
    lines.push(
      line(
        `The cache saved ${money(saved, bill.currency)}, ${percent(saved / (bill.total_nano + saved))} of the full price.`,
        from,
        bill.at,
      ),
    );
  } else if (!read) lines.push(line("Nothing came from the cache, so nothing was saved.", from, bill.at));
  const output = price("output");
  if (output)
    lines.push(
      line(
        `The answer’s ${counted(output.num_tokens, "token")} made up ${percent(output.amount_nano / Math.max(1, bill.total_nano))} of the total, ${money(bill.total_nano, bill.currency)}.`,
        from,
        bill.at,
      ),
    );
  return lines;
};
