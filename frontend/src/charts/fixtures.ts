/** Reports for tests of the desk. */
import type {
  Amount,
  Finding,
  Findings,
  UsageFigures,
  UsageReport,
  UsedRequest,
  WhatIf,
} from "../protocol/api";

export const NOTHING: UsageFigures = {
  num_requests: 0,
  num_failed: 0,
  num_refused: 0,
  num_held_back: 0,
  uncached_input: 0,
  cache_read: 0,
  cache_write_5m: 0,
  cache_write_1h: 0,
  output: 0,
  cache_unknown_input: 0,
  num_unpriced: 0,
  cost: [],
  saved: [],
};

export function figures(changed: Partial<UsageFigures> = {}): UsageFigures {
  return { ...NOTHING, ...changed };
}

export const usd = (nano: number): Amount[] => [{ currency: "USD", nano }];

const NO_TIMES = { now: null, before: null, points: [null, null, null] };
const SPENT = figures({
  num_requests: 4,
  cost: usd(2e9),
  saved: usd(1e9),
  uncached_input: 30,
  cache_read: 10,
});

/** Three days with one group that spent on each day but the second. */
export function reportOf(changed: Partial<UsageReport> = {}): UsageReport {
  return {
    first: "2026-10-23",
    last: "2026-10-25",
    zone: "UTC",
    unit: "day",
    counted_in: "UTC",
    before_first: "2026-10-20",
    before_last: "2026-10-22",
    starts: ["2026-10-23T00:00:00Z", "2026-10-24T00:00:00Z", "2026-10-25T00:00:00Z"],
    points_before: [SPENT, NOTHING, NOTHING],
    by: "model",
    now: figures({
      num_requests: 8,
      num_failed: 1,
      cost: usd(4e9),
      saved: usd(2e9),
      uncached_input: 60,
      cache_read: 20,
    }),
    before: SPENT,
    num_users: 1,
    num_users_before: 1,
    groups: [
      {
        key: "large",
        label: "large",
        now: figures({ num_requests: 8, cost: usd(4e9) }),
        before: SPENT,
        points: [SPENT, NOTHING, SPENT],
      },
    ],
    leaders: [{ user_id: 3, name: "=alice", now: SPENT, before: NOTHING }],
    speed: {
      queue_us: NO_TIMES,
      first_token_us: NO_TIMES,
      first_text_us: NO_TIMES,
      per_token_us: NO_TIMES,
      error: 0,
    },
    heat: Array.from({ length: 7 }, () => Array<number>(24).fill(0)),
    heat_first: "2026-10-23",
    causes: [{ status: "failed", code: "worker_lost", num: 1, num_before: 0 }],
    verdicts: [{ verdict: "allow", num: 8, num_before: 4 }],
    models: [{ key: "large", label: "large" }],
    surfaces: [{ key: "chat", label: "chat" }],
    users: [{ key: "3", label: "=alice" }],
    user_groups: [],
    ...changed,
  };
}

/** One of the reader's own requests. */
export const REQUEST: UsedRequest = {
  request_id: "req_1",
  accepted_at: "2026-10-24T13:03:12Z",
  user: "=cmd()",
  model: "large",
  surface: "chat",
  status: "failed",
  error_code: "worker_lost",
  verdict: "allow",
  uncached_input: 10,
  cache_read: 30,
  cache_write_5m: 0,
  cache_write_1h: 0,
  output: 5,
  cost: { currency: "USD", nano: 1500 },
  queue_us: null,
  first_token_us: 1200,
  per_token_us: null,
  is_own: true,
  has_trace: true,
  is_readable: true,
};

/** A period in which nothing stands out. */
export const QUIET: Findings = { first: "2026-10-23", last: "2026-10-25", num_days_known: 35, findings: [] };

/** One user's spike. */
export const FINDING: Finding = {
  key: "cost:USD:3::2026-10-24T00:00Z",
  kind: "cost",
  severity: "high",
  title: "=alice's cost on Saturday, Oct 24 was 3.1 times a usual Saturday: $4.00 against $1.29.",
  why: "A usual Saturday has 24 requests, so there were 17 times as many.",
  start: "2026-10-24T00:00:00Z",
  end: "2026-10-25T00:00:00Z",
  lead: { first: "2026-10-24", last: "2026-10-24", user_id: 3, model: "", status: "", code: "" },
  requests: [REQUEST],
};

/** A period that would have cost half as much again. */
export const WHAT_IF: WhatIf = {
  billed: usd(4e9),
  actual: usd(4e9),
  changed: usd(6e9),
  num_requests: 8,
  num_unpriced_actual: 0,
  num_unpriced: 0,
  unknown: "",
  models: ["large", "small"],
  used_models: ["large"],
};
