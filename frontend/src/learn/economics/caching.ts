/** Repeated requests that share a long beginning, which is cached in different ways. Pure. */
import type { Simulation, SimulationRequest } from "../../protocol/events";
import type { UnitPrices } from "../../protocol/api";
import { costOf } from "../../trace/usage";
import { summed } from "../cost";

export interface Plan {
  /** Tokens that all requests begin with. */
  numShared: number;
  numRequests: number;
  everyMinutes: number;
  /** True when other users' requests need the memory in between. */
  isBusy: boolean;
}

export const WAYS = [
  { id: "off", name: "no cache", ttl: "none", hasCache: false },
  { id: "free", name: "cache, no promise", ttl: "none", hasCache: true },
  { id: "5m", name: "kept for 5 minutes", ttl: "5m", hasCache: true },
  { id: "1h", name: "kept for 1 hour", ttl: "1h", hasCache: true },
] as const;
export type Way = (typeof WAYS)[number];

const NUM_OWN = 32;
const NUM_ANSWER = 16;
const NUM_SPARE_BLOCKS = 16;
const BLOCK = 16;
const MINUTE_US = 60_000_000;

/** The simulation of the plan; the visitor's requests come first in its list. */
export function requestOf(plan: Plan, way: Way): SimulationRequest {
  const shared = range(plan.numShared, 0);
  const gap = plan.everyMinutes * MINUTE_US;
  const own = Array.from({ length: plan.numRequests }, (_, index) => ({
    at_us: Math.round(index * gap),
    user: "visitor",
    prompt: [...shared, ...range(NUM_OWN, 100_000 + 1000 * index)],
    answer: range(NUM_ANSWER, 200_000 + 1000 * index),
    ttl: way.ttl,
  }));
  const numBlocks = 2 * Math.ceil(plan.numShared / BLOCK) + NUM_SPARE_BLOCKS;
  return {
    arrivals: plan.isBusy ? [...own, ...others(plan, gap)] : own,
    num_blocks: numBlocks,
    max_num_running: 1,
    token_budget: 8192,
    mixed_budget: 8192,
    step_us: 5000,
    token_us: 10,
    has_cache: way.hasCache,
    has_blocks: false,
  };
}

/** Other users' requests, two between any two of the visitor's. The second finds only blocks promised to no request. */
function others({ numRequests, numShared }: Plan, gap: number): SimulationRequest["arrivals"] {
  return Array.from({ length: 2 * (numRequests - 1) }, (_, index) => ({
    at_us: Math.round((index >> 1) * gap + (gap / 3) * (1 + (index & 1))),
    user: `other ${index + 1}`,
    prompt: range(numShared, 1_000_000 + 10_000 * index),
    answer: [1],
    ttl: "none" as const,
  }));
}

const range = (length: number, first: number) => Array.from({ length }, (_, index) => first + index);

/** The joint cost of the visitor's first n requests, for each n; billionths of the currency unit. */
export function costsOf({ numRequests }: Plan, { stories }: Simulation, prices: UnitPrices): number[] {
  return summed(stories.slice(0, numRequests).map(({ usage }) => costOf(usage, prices)));
}

/** Least number of requests from which on one way is cheaper than another; null: it never is. */
export function paysFrom(costs: number[], others: number[]): number | null {
  const index = costs.findIndex((_, at) => costs.slice(at).every((cost, next) => cost < others[at + next]!));
  return index < 0 ? null : index + 1;
}
