/** What stands out in a period: the way to each finding's charts, and the words around the findings. Pure. */
import { numInput } from "../../charts/figures/words";
import type { Finding, Findings, UsedRequest } from "../../protocol/api";
import { count, counted, duration } from "../../trace/format";
import { hourIn } from "../../charts/address/parts";
import { daysText } from "../../charts/address/period";
import type { Choices } from "../../charts/address/address";
import { costText, endingText } from "../requests/requests";

const HOUR_MS = 3_600_000;

/** The charts that show a finding of each kind. */
const CHARTS: Record<Finding["kind"], Partial<Choices>> = {
  cost: { measure: "cost", by: "user", order: "cost" },
  spender: { measure: "cost", by: "model", order: "cost" },
  cache: { measure: "cached", by: "user", order: "input" },
  causes: { measure: "errors", by: "status" },
  slow_hours: { measure: "requests", by: "status", time: "first_token_us", order: "first_token" },
  slow_worker: { measure: "requests", by: "model", time: "per_token_us" },
  growth: { measure: "input", by: "user", order: "input" },
};

/** The choices that lead to the finding. */
export function choicesFor(finding: Finding, isOwn: boolean, zone: string): Partial<Choices> {
  const { kind, lead } = finding;
  const { first, last, user_id, model, status, code } = lead;
  const by = CHARTS[kind].by === "user" && (isOwn || user_id !== null) ? "model" : CHARTS[kind].by;
  return {
    ...CHARTS[kind],
    by,
    period: { first, last },
    ...(kind === "slow_hours" && { hour: onlyHour(finding, zone) }),
    ...(user_id !== null && !isOwn && { user: String(user_id) }),
    ...(model && { model }),
    ...(status && { status }),
    ...(code && { code }),
  };
}

/** The finding's hour of the day; empty: it has several. */
function onlyHour({ start, end }: Finding, zone: string): string {
  const [from, to] = [new Date(start), new Date(end)];
  return to.getTime() - from.getTime() > HOUR_MS ? "" : hourIn(zone, from);
}

/** The figure of a request that the finding is about. */
export function figureText(kind: Finding["kind"], request: UsedRequest): string {
  if (kind === "cost" || kind === "spender") return costText(request);
  if (kind === "causes") return endingText(request);
  const { first_token_us, queue_us, per_token_us } = request;
  if (kind === "slow_hours" && first_token_us !== null)
    return queue_us === null
      ? duration(first_token_us)
      : `${duration(first_token_us)}, ${duration(queue_us)} in the queue`;
  if (kind === "slow_worker" && per_token_us !== null) return `${duration(per_token_us)} per token`;
  return `${counted(numInput(request), "token")} read, ${count(request.cache_read)} cached`;
}

const MIN_DAYS = 5;

/** Said where nothing stands out. */
export function nothingText({ num_days_known }: Findings): string {
  return num_days_known < MIN_DAYS
    ? `Too few earlier days have usage to tell what is usual: ${count(num_days_known)} of at least ${MIN_DAYS}.`
    : `Nothing stands out, compared with ${counted(num_days_known, "day")} before.`;
}

/** Said where the findings cover less than the period. Empty: they cover all of it. */
export function coverText({ first, last }: Findings, asked: string): string {
  return new URLSearchParams(asked).get("first") === first ? "" : `of ${daysText({ first, last })}`;
}
