/** The roads not taken: eight more answers to a request, with other seeds. An equal earlier set is used again. */
import type { RerunHead, RerunPlan } from "../../protocol/api";
import { api } from "../../transport/api";

export const NUM_ROADS = 8;
/** Temperature offered in place of 0, at which every answer is the same. */
export const OFFERED_TEMPERATURE = 0.8;

/** The plan of the runs. temperature: one in place of the request's own; null: its own. */
export function planOfRoads(temperature: number | null): Omit<Required<RerunPlan>, "model"> {
  return { n: NUM_ROADS, seeds: "fresh", grid: temperature === null ? {} : { temperature: [temperature] } };
}

/** True when a set was made by this plan, with this model, and is not broken off. */
export function isSame(set: RerunHead, plan: RerunPlan, model: string): boolean {
  const isWhole = set.state === "done" || set.state === "running";
  return (
    isWhole &&
    set.model === model &&
    set.num_runs === plan.n &&
    set.n === plan.n &&
    set.seeds === plan.seeds &&
    JSON.stringify(set.grid) === JSON.stringify(plan.grid)
  );
}

/** The address of the page that shows them. Throws ApiError. */
export async function addressOfRoads(requestId: string, temperature: number | null): Promise<string> {
  const plan = planOfRoads(temperature);
  const [{ reruns }, { model }] = await Promise.all([api.rerunsOf(requestId), api.request(requestId)]);
  const known = reruns.find((set) => isSame(set, plan, model));
  return `/reruns/${(known ?? (await api.runAgain(requestId, plan))).id}`;
}
