/** Calls of the operator's desk beyond the report of usage. */
import type { KeyLimits, LimitsBody, NoticeBody, Operations, SharedLimitsBody } from "../protocol/api";
import { call } from "./api";

export type AlertRuleBody = Operations["POST /api/alerts/rules"]["body"];
export type AlertRuleChange = Operations["PATCH /api/alerts/rules/{rule_id}"]["body"];
export type ModelBody = Operations["POST /api/registry"]["body"];
export type ModelChange = Operations["PATCH /api/registry/{model}"]["body"];
export type PricesBody = Operations["POST /api/prices"]["body"];

export const desk = {
  audit: (text: string, before?: number) => {
    const asked = { text, ...(before !== undefined && { before: String(before) }) };
    return call("GET /api/audit", { query: new URLSearchParams(asked) });
  },
  prices: () => call("GET /api/prices"),
  previewPrices: (body: PricesBody) => call("POST /api/prices/preview", { body }),
  setPrices: (body: PricesBody) => call("POST /api/prices", { body }),
  removePrices: (model: string, effective_from: string) =>
    call("DELETE /api/prices", { query: new URLSearchParams({ model, effective_from }) }),
  alerts: () => call("GET /api/alerts"),
  createAlertRule: (body: AlertRuleBody) => call("POST /api/alerts/rules", { body }),
  changeAlertRule: (rule_id: number, body: AlertRuleChange) =>
    call("PATCH /api/alerts/rules/{rule_id}", { path: { rule_id }, body }),
  deleteAlertRule: (rule_id: number) => call("DELETE /api/alerts/rules/{rule_id}", { path: { rule_id } }),
  tryAlertRule: (rule_id: number) => call("POST /api/alerts/rules/{rule_id}/test", { path: { rule_id } }),
  people: (query: URLSearchParams) => call("GET /api/users", { query }),
  person: (target_id: string, query: URLSearchParams) =>
    call("GET /api/users/{target_id}", { path: { target_id }, query }),
  stop: (target_id: number, reason: string) =>
    call("POST /api/users/{target_id}/stop", { path: { target_id }, body: { reason } }),
  resume: (target_id: number, reason: string) =>
    call("POST /api/users/{target_id}/resume", { path: { target_id }, body: { reason } }),
  previewEndOfSignIns: (target_id: number) =>
    call("GET /api/users/{target_id}/sign-ins", { path: { target_id } }),
  endSignIns: (target_id: number, reason: string) =>
    call("POST /api/users/{target_id}/sign-ins/end", { path: { target_id }, body: { reason } }),
  keysOf: (target_id: number) => call("GET /api/users/{target_id}/keys", { path: { target_id } }),
  limitKeyOf: (target_id: number, key_id: number, body: KeyLimits) =>
    call("PUT /api/users/{target_id}/keys/{key_id}/limits", { path: { target_id, key_id }, body }),
  revokeKeyOf: (target_id: number, key_id: number, reason: string) =>
    call("POST /api/users/{target_id}/keys/{key_id}/revoke", {
      path: { target_id, key_id },
      body: { reason },
    }),
  setUserLimits: (target_id: number, body: LimitsBody) =>
    call("PUT /api/users/{target_id}/limits", { path: { target_id }, body }),
  setGroupLimits: (group_id: number, body: LimitsBody) =>
    call("PUT /api/groups/{group_id}/limits", { path: { group_id }, body }),
  previewGroupStop: (group_id: number) => call("GET /api/groups/{group_id}/stop", { path: { group_id } }),
  stopGroup: (group_id: number, reason: string) =>
    call("POST /api/groups/{group_id}/stop", { path: { group_id }, body: { reason } }),
  resumeGroup: (group_id: number, reason: string) =>
    call("POST /api/groups/{group_id}/resume", { path: { group_id }, body: { reason } }),
  nameModel: (model: string, name: string) => call("PUT /api/prices/names", { body: { model, name } }),
  models: () => call("GET /api/registry"),
  addModel: (body: ModelBody) => call("POST /api/registry", { body }),
  changeModel: (model: string, body: ModelChange) =>
    call("PATCH /api/registry/{model}", { path: { model }, body }),
  checkModel: (model: string) => call("POST /api/registry/{model}/check", { path: { model } }),
  deleteModel: (model: string) => call("DELETE /api/registry/{model}", { path: { model } }),
  plannedNotices: () => call("GET /api/notices/all"),
  createNotice: (body: NoticeBody) => call("POST /api/notices", { body }),
  endNotice: (notice_id: number) => call("DELETE /api/notices/{notice_id}", { path: { notice_id } }),
  sharedLimits: () => call("GET /api/limits/shared"),
  setSharedLimits: (body: SharedLimitsBody) => call("PUT /api/limits/shared", { body }),
  setSiteLimits: (body: LimitsBody) => call("PUT /api/limits", { body }),
};
