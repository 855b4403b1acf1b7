/** Calls on the people, invitations and limits of groups. */
import type { GroupLimitsBody, OwnGroup } from "../protocol/api";
import { call } from "./api";

export type Role = OwnGroup["role"];

export const groups = {
  own: () => call("GET /api/usage/groups"),
  people: (group_id: number) => call("GET /api/groups/{group_id}/people", { path: { group_id } }),
  invite: (group_id: number, name: string, role: Role) =>
    call("POST /api/groups/{group_id}/invitations", { path: { group_id }, body: { name, role } }),
  withdraw: (group_id: number, invitation_id: number) =>
    call("DELETE /api/groups/{group_id}/invitations/{invitation_id}", { path: { group_id, invitation_id } }),
  changeRole: (group_id: number, target_id: number, role: Role) =>
    call("PATCH /api/groups/{group_id}/people/{target_id}", {
      path: { group_id, target_id },
      body: { role },
    }),
  remove: (group_id: number, target_id: number) =>
    call("DELETE /api/groups/{group_id}/people/{target_id}", { path: { group_id, target_id } }),
  limits: (group_id: number) => call("GET /api/usage/groups/{group_id}/limits", { path: { group_id } }),
  setLimits: (group_id: number, body: GroupLimitsBody) =>
    call("PUT /api/usage/groups/{group_id}/limits", { path: { group_id }, body }),
  invitations: () => call("GET /api/account/invitations"),
  accept: (invitation_id: number) =>
    call("POST /api/account/invitations/{invitation_id}/accept", { path: { invitation_id } }),
  decline: (invitation_id: number) =>
    call("POST /api/account/invitations/{invitation_id}/decline", { path: { invitation_id } }),
  leave: (group_id: number) => call("DELETE /api/account/groups/{group_id}", { path: { group_id } }),
};
