/** An answer as far as this page has it. */
import { endOf, endOfMessage, type Ending } from "../../trace/outcome";
import { isOver } from "../../trace/view";
import type { Message } from "../../protocol/api";
import type { RequestTrace } from "../request/request-trace.svelte";

/** The text that came with the conversation stands until the events have gone beyond it. */
export function textSoFar(message: Message, trace: RequestTrace | null): string {
  const streamed = trace?.whole.text ?? "";
  return streamed.length > message.text.length ? streamed : message.text;
}

/** The message decides until its events do: they may be on their way, or dropped. */
export function endingOf(message: Message, trace: RequestTrace | null): Ending {
  const isTold = trace && (message.status === "streaming" || isOver(trace.whole));
  return isTold ? endOf(trace.whole) : endOfMessage(message);
}
