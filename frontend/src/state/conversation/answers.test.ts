import { expect, it } from "vitest";
import type { Message } from "../../protocol/api";
import { textSoFar } from "./answers";
import { RequestTrace } from "../request/request-trace.svelte";

const message = (text: string) => ({ text }) as Message;

function traced(text: string): RequestTrace {
  const trace = new RequestTrace("req_1");
  trace.receive({ type: "text.released", generation: 0, at: 1, text, num_tokens: 1 }, 1);
  return trace;
}

it("shows what came with the conversation until the events have gone beyond it", () => {
  expect(textSoFar(message("The sky"), null)).toBe("The sky");
  expect(textSoFar(message("The sky"), traced("The"))).toBe("The sky");
  expect(textSoFar(message("The sky"), traced("The sky is"))).toBe("The sky is");
});
