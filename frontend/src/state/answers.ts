/** An answer as far as this page has it. */
import type { Message } from "../transport/api";
import type { RequestTrace } from "./request-trace.svelte";

/** What came with the conversation stands until the events have gone beyond it. */
export function textSoFar(message: Message, trace: RequestTrace | null): string {
  const streamed = trace?.whole.text ?? "";
  return streamed.length > message.text.length ? streamed : message.text;
}
