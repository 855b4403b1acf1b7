/** A request of this product that was recorded once: what is shown before there is one of the visitor's own. */
import type { Frame } from "../protocol/events";
import { RequestTrace } from "../state/request/request-trace.svelte";

/** scripts/record_example.py records the file. */
export async function loadExample(): Promise<RequestTrace> {
  const { default: example } = await import("./example.json");
  return RequestTrace.saved(example.trace.frames as unknown as Frame[]);
}
