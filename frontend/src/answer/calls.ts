/** The calls of tools in an answer's text, as Markdown shows them. */
import type { ToolCall } from "../protocol/api";
import { allCalls, allResults, type TraceView } from "../trace/view";

const HEAD = '<tool_call>{"name": "';
const CALL = /<tool_call>(\{"name": ".*?)(?:<\/tool_call>|$)/gs;

/** The text with each call as a block of code, also the last one while it is written. */
export function withCalls(text: string): string {
  if (!text.includes(HEAD)) return text;
  return text.replace(CALL, (_whole, call: string) => `\n\n\`\`\`\`tool call\n${call}\n\`\`\`\`\n\n`).trim();
}

/** The calls that have a result, in order. */
export function callsOf(view: TraceView): ToolCall[] {
  const results = new Map(allResults(view).map((each) => [each.call_id, each]));
  return allCalls(view).flatMap(({ call_id, name, arguments: given }) => {
    const found = results.get(call_id);
    return found ? [{ name, arguments: given, result: found.result, is_error: found.is_error }] : [];
  });
}
