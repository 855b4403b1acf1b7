/** The calls of tools in an answer's text, as Markdown shows them. */
const HEAD = '<tool_call>{"name": "';
const CALL = /<tool_call>(\{"name": ".*?)(?:<\/tool_call>|$)/gs;

/** The text with each call as a block of code, also the last one while it is written. */
export function withCalls(text: string): string {
  if (!text.includes(HEAD)) return text;
  return text.replace(CALL, (_whole, call: string) => `\n\n\`\`\`\`tool call\n${call}\n\`\`\`\`\n\n`).trim();
}
