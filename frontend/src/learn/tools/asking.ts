/** Sends a real message whose answer must call a tool, in a chat of the reader's own. */
import type { Session } from "../../protocol/api";
import { api } from "../../transport/api";
import { modelOf } from "../model";

export const QUESTIONS = [
  { tool: "calculator", name: "Calculate", text: "What is 17 * 23?" },
  { tool: "convert_units", name: "Convert units", text: "How many kilometres are 26 miles?" },
  { tool: "current_time", name: "Tell the time", text: "What time is it in Tokyo?" },
] as const;

export type Question = (typeof QUESTIONS)[number];
export const MAX_CHARS = 300;
/** Room for the call, or for a short answer after it. */
const MAX_TOKENS = 96;

export interface Asked {
  conversation: string;
  request: string;
}

/** Ask; the answer begins with a call of the tool. Rejects with ApiError. */
export async function ask(session: Session, tool: string, text: string): Promise<Asked> {
  const model = modelOf(session);
  const { id } = await api.createConversation({
    model: model.id,
    system_prompt: "",
    params: { ...model.default_params, temperature: 0, max_tokens: MAX_TOKENS },
    tools: [tool],
    memory: false,
  });
  const sent = await api.send(id, { text, must_call: true }, crypto.randomUUID());
  return { conversation: id, request: sent.assistant_message.request_id! };
}
