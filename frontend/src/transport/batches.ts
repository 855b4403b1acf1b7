/** Calls on the user's batches. */
import { call } from "./api";

const at = (batch_id: string) => ({ batch_id });
const after = (value: string | number) => new URLSearchParams({ after: String(value) });

export const batches = {
  list: (last: string) => call("GET /api/batches", { query: after(last) }),
  /** One batch with the lines after this index. */
  show: (id: string, index: number) =>
    call("GET /api/batches/{batch_id}", { path: at(id), query: after(index) }),
  create: (text: string, idempotencyKey: string) => {
    const form = new FormData();
    form.append("file", new File([text], "lines.jsonl", { type: "application/x-jsonl" }));
    return call("POST /api/batches", { body: form, idempotencyKey });
  },
  cancel: (id: string) => call("POST /api/batches/{batch_id}/cancel", { path: at(id) }),
};

export const resultsAddress = (id: string, part: "output" | "errors") =>
  `/api/batches/${id}/results?part=${part}`;
