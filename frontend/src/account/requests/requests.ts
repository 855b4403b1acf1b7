/** The requests behind the desk's figures: their order and their table. Pure. */
import type { UsedRequest, UsedRequestList } from "../../protocol/api";
import { count, counted, duration, money } from "../../trace/format";
import { inZone } from "../../charts/address/zoned";
import { causeText, STATUSES, SURFACES } from "../../charts/figures/words";
import { amount, quantity, type Cell, type Table } from "../../charts/tables/table";

/** The address of the request's trace; null: the reader may not read it, or it has none. */
export function traceHref({ request_id, is_own, is_readable }: UsedRequest): string | null {
  return is_readable ? `${is_own ? "" : "/admin"}/requests/${request_id}` : null;
}

/** How the request ended, with its cause. */
export function endingText({ status, error_code }: UsedRequest): string {
  const ending = STATUSES[status] ?? status;
  const cause = error_code ? causeText(error_code) : "";
  return cause && cause !== ending ? `${ending}: ${cause}` : ending;
}

export function costText({ cost }: UsedRequest): string {
  return cost ? money(cost.nano, cost.currency) : "unknown";
}

export function timeText(us: number | null): string {
  return us === null ? "–" : duration(us);
}

const arrival = inZone({
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});

/** The arrival in the report's zone: "Oct 24, 15:03:12". */
export function arrivalText({ accepted_at }: UsedRequest, zone: string): string {
  return arrival(accepted_at, zone);
}

export function listedText({ requests, num_requests }: UsedRequestList): string {
  return requests.length < num_requests
    ? `The first ${count(requests.length)} of ${counted(num_requests, "request")}.`
    : `${counted(num_requests, "request")}.`;
}

export function requestsTable({ requests }: UsedRequestList): Table {
  const time = (us: number | null): Cell => quantity(us, duration);
  const names = ["Arrival (UTC)", "Request", "User", "Model", "Surface", "Ending"];
  const numbers = [
    "Input, computed",
    "Input, cached",
    "Input, kept 5 min",
    "Input, kept 1 h",
    "Output",
    "Cost",
    "Queue (µs)",
    "First token (µs)",
  ];
  return {
    name: "requests",
    columns: [
      ...names.map((name) => ({ name })),
      ...numbers.map((name) => ({ name, isNumber: true })),
      { name: "Currency" },
    ],
    rows: requests.map((each) => [
      each.accepted_at,
      each.request_id,
      each.user,
      each.model,
      SURFACES[each.surface] ?? each.surface,
      endingText(each),
      quantity(each.uncached_input, count),
      quantity(each.cache_read, count),
      quantity(each.cache_write_5m, count),
      quantity(each.cache_write_1h, count),
      quantity(each.output, count),
      each.cost ? amount(each.cost.nano, String) : { shown: "unknown", exact: "" },
      time(each.queue_us),
      time(each.first_token_us),
      each.cost?.currency ?? "",
    ]),
  };
}
