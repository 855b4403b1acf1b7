/** How a request stands or ended, by the same rules as webapp.lifecycle.settle. */
import { isOver, type TraceView } from "./view";

export type Outcome = "running" | "done" | "length" | "stopped" | "withheld" | "blocked" | "failed";

export function outcomeOf(view: TraceView): Outcome {
  if (!isOver(view)) return "running";
  const reason = view.generation?.finish_reason ?? null;
  if (view.cancelledAt !== null && (reason === null || reason === "abort")) return "stopped";
  if (view.failed) return view.failed.code === "blocked" ? "blocked" : "failed";
  if (view.withheld) return "withheld";
  return reason === "length" ? "length" : "done";
}

const FAILURES: Record<string, string> = {
  blocked: "Blocked by the safety policy: the message did not reach the model",
  parent_gone: "The answer it goes on from is gone",
  prompt_too_long: "The message is too long",
  no_worker: "No worker took the request",
  worker_lost: "The worker was lost",
  model_unavailable: "The model cannot be used",
  unsupported: "The server behind this model cannot do what was asked",
  server_refused: "The server behind this model refused the request",
  server_failed: "The server behind this model failed",
  overloaded: "Too many requests",
  internal: "Something failed in the server",
};

/** What a failure is called above its message. */
export function failureTitle(error: { stage: string; code: string }): string {
  return FAILURES[error.code] ?? `${error.stage}: ${error.code.replaceAll("_", " ")}`;
}
