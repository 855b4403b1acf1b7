/** Calls on the signed-in user's own sign-ins. */
import { call } from "./api";

export const account = {
  signIns: () => call("GET /api/account/sign-ins"),
  endSignIn: (sign_in_id: string) =>
    call("DELETE /api/account/sign-ins/{sign_in_id}", { path: { sign_in_id } }),
  endOtherSignIns: () => call("DELETE /api/account/sign-ins"),
};
