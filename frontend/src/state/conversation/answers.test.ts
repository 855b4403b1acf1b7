import { expect, it } from "vitest";
import { emptyView } from "../../trace/view";
import type { Message } from "../../protocol/api";
import { textSoFar } from "./answers";
import { RequestTrace } from "../request/request-trace.svelte";

const message = (text: string) => ({ text }) as Message;

function traced(text: string): RequestTrace {
  const trace = new RequestTrace("req_1");
  trace.whole = { ...emptyView(), text };
  return trace;
}

it("shows what came with the conversation until the events have gone beyond it", () => {
  expect(textSoFar(message("The sky"), null)).toBe("The sky");
  expect(textSoFar(message("The sky"), traced("The"))).toBe("The sky");
  expect(textSoFar(message("The sky"), traced("The sky is"))).toBe("The sky is");
});
