/** Calls on the user's memories. */
import type { MemoryChange, MemoryMode, NewMemory } from "../protocol/api";
import { call } from "./api";

export const memory = {
  /** All, the newest first; or, with words, the nearest to them. */
  list: (q: string, after: number) =>
    call("GET /api/memory", { query: new URLSearchParams({ q, after: String(after) }) }),
  save: (body: NewMemory) => call("POST /api/memory", { body }),
  change: (memory_id: string, body: MemoryChange) =>
    call("PATCH /api/memory/{memory_id}", { path: { memory_id }, body }),
  remove: (memory_id: string) => call("DELETE /api/memory/{memory_id}", { path: { memory_id } }),
  clear: () => call("DELETE /api/memory"),
  setMode: (mode: MemoryMode["mode"]) => call("PUT /api/memory/mode", { body: { mode } }),
  exportAddress: "/api/memory/export",
};
