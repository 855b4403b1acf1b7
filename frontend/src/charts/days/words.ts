/** Use by day and the pace to the month's end in words. Pure. */
import type { DayUse, Pace } from "../../protocol/api";
import { count, money } from "../../trace/format";

export const keyText = ({ key }: DayUse): string => (key ? `${key}…` : "sign-in");

export const tokensOf = (use: DayUse): number =>
  use.uncached_input + use.cache_read + use.cache_write_5m + use.cache_write_1h + use.output;

/** Tokens of thinking within the output. "–": not recorded for each of the requests. */
export const thinkingText = ({ thinking }: Pick<DayUse, "thinking">): string =>
  thinking === null ? "–" : count(thinking);

/** "$3.00 is spent this month; at this pace $9.00 by its end (projection), 90 % of the budget of $10.00." */
export function paceText({ spent_nano, projected_nano, currency, budget_nano }: Pace): string {
  const spent = `${money(spent_nano, currency)} is spent this month`;
  const projected = `at this pace ${money(projected_nano, currency)} by its end (a projection)`;
  if (!budget_nano) return `${spent}; ${projected}.`;
  const share = Math.round((100 * projected_nano) / budget_nano);
  return `${spent}; ${projected}, ${share} % of the budget of ${money(budget_nano, currency)}.`;
}
