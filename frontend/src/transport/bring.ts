/** Calls on brought requests, and on the recordings of a user's programs. */
import type { BroughtPair, BroughtText } from "../protocol/api";
import { call } from "./api";

export const bring = {
  takeApart: (body: BroughtPair, signal: AbortSignal) => call("POST /api/bring", { body, signal }),
  priceTables: () => call("GET /api/bring/prices"),
  send: (body: BroughtText, idempotencyKey: string) => call("POST /api/bring/send", { body, idempotencyKey }),
  recordings: () => call("GET /api/recordings"),
  recording: (recording_id: number, after: number) =>
    call("GET /api/recordings/{recording_id}", {
      path: { recording_id },
      query: new URLSearchParams({ after: String(after) }),
    }),
  renameRecording: (recording_id: number, name: string) =>
    call("PATCH /api/recordings/{recording_id}", { path: { recording_id }, body: { name } }),
  deleteRecording: (recording_id: number) =>
    call("DELETE /api/recordings/{recording_id}", { path: { recording_id } }),
};
