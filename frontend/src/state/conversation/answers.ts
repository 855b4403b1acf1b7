/** The text and the end of an answer, from its message and from its events. */
import { endOf, endOfMessage, type Ending } from "../../trace/outcome";
import { answerText, isOver } from "../../trace/view";
import type { Message } from "../../protocol/api";
import type { RequestTrace } from "../request/request-trace.svelte";

/** The longer of two texts: the message's, which came with the conversation, and that of the events so far. */
export function textSoFar(message: Message, trace: RequestTrace | null): string {
  const streamed = trace ? answerText(trace.whole) : "";
  return streamed.length > message.text.length ? streamed : message.text;
}

/** The end that the events tell, or the message's while the events are still loading or were dropped. */
export function endingOf(message: Message, trace: RequestTrace | null): Ending {
  const isTold = trace && (message.status === "streaming" || isOver(trace.whole));
  return isTold ? endOf(trace.whole) : endOfMessage(message);
}
