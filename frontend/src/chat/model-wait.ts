/** The readiness of a model that can be chosen, in words. */
import type { Model, WorkerStatus } from "../protocol/api";
import { workerOf } from "../state/session.svelte";

/** Why no worker takes the model's messages now, in a few words; empty: one does. */
export function waitText(model: Model, workers: readonly WorkerStatus[]): string {
  if (model.is_ready) return "";
  const worker = workerOf(model, workers);
  if (worker?.state === "loading") return `loading: ${Math.round(Number(worker.progress) * 100)}\u00a0%`;
  return worker?.state === "failed" ? "it did not load" : "no worker is ready";
}
