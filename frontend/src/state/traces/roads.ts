/** The roads not taken: eight more answers to a request, with other seeds. An earlier set is kept. */
import type { RerunHead, RerunPlan } from "../../protocol/api";
import { api } from "../../transport/api";

export const NUM_ROADS = 8;
/** At zero every answer is the same; this is offered in its place. */
export const OFFERED_TEMPERATURE = 0.8;

/** temperature: another one than the request's own. */
export function planOfRoads(temperature: number | null): Required<RerunPlan> {
  return { n: NUM_ROADS, seeds: "fresh", grid: temperature === null ? {} : { temperature: [temperature] } };
}

/** True when a set is what these roads are. */
export function isSame(set: RerunHead, plan: Required<RerunPlan>): boolean {
  const isWhole = set.state === "done" || set.state === "running";
  return (
    isWhole &&
    set.num_runs === plan.n &&
    set.n === plan.n &&
    set.seeds === plan.seeds &&
    JSON.stringify(set.grid) === JSON.stringify(plan.grid)
  );
}

/** The address of the page that shows them. Throws ApiError. */
export async function addressOfRoads(requestId: string, temperature: number | null): Promise<string> {
  const plan = planOfRoads(temperature);
  const { reruns } = await api.rerunsOf(requestId);
  const known = reruns.find((set) => isSame(set, plan));
  return `/reruns/${(known ?? (await api.runAgain(requestId, plan))).id}`;
}
