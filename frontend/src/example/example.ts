/** A recorded request of this product, shown until the visitor has one. */
import type { Frame } from "../protocol/events";
import { RequestTrace } from "../state/request/request-trace.svelte";

/** scripts/record_example.py records the file. */
export async function loadExample(): Promise<RequestTrace> {
  const { default: example } = await import("./example.json");
  return RequestTrace.saved(example.trace.frames as unknown as Frame[]);
}
