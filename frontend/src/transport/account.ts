/** Calls on the signed-in user's own sign-ins and keys. */
import type { KeyLimits, NewKey } from "../protocol/api";
import { call } from "./api";

export const account = {
  signIns: () => call("GET /api/account/sign-ins"),
  endSignIn: (sign_in_id: string) =>
    call("DELETE /api/account/sign-ins/{sign_in_id}", { path: { sign_in_id } }),
  endOtherSignIns: () => call("DELETE /api/account/sign-ins"),
  keys: () => call("GET /api/keys"),
  makeKey: (body: NewKey) => call("POST /api/keys", { body }),
  limitKey: (key_id: number, body: KeyLimits) =>
    call("PUT /api/keys/{key_id}/limits", { path: { key_id }, body }),
  revokeKey: (key_id: number) => call("DELETE /api/keys/{key_id}", { path: { key_id } }),
};
