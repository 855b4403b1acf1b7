/** Calls on comparisons of a period's cost. */
import type { RepricingBody } from "../protocol/api";
import { call } from "./api";

export const repricing = {
  begin: (body: RepricingBody) => call("POST /api/repricings", { body }),
  show: (work_id: string) => call("GET /api/repricings/{work_id}", { path: { work_id } }),
  cancel: (work_id: string) => call("DELETE /api/repricings/{work_id}", { path: { work_id } }),
};
