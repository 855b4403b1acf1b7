/** The calls of tools in an answer's text, as Markdown shows them. */
import type { ToolCall } from "../protocol/api";
import { allResults, madeCalls, type TraceView } from "../trace/view";

const [BEGIN, END] = ["<tool_call>", "</tool_call>"];
const HEAD = `${BEGIN}{"name": "`;
const BEFORE_ARGUMENTS = '", "arguments": ';

/** A stretch of an answer: of its own text, or one call as the model wrote it. */
export interface Part {
  kind: "text" | "call";
  text: string;
  /** False: a call that is still written. */
  isWhole: boolean;
}

/** The text with each call as a block of code, also the last one while it is written. */
export function withCalls(text: string): string {
  if (!text.includes(HEAD)) return text;
  return partsOf(text)
    .map(({ kind, text }) => (kind === "text" ? text : `\n\n\`\`\`\`tool call\n${text}\n\`\`\`\`\n\n`))
    .join("")
    .trim();
}

/** As the server's Splitter splits it: a call ends with the brace that closes it, whatever its strings hold. */
export function partsOf(text: string): Part[] {
  const found: Part[] = [];
  let at = 0;
  for (let head = text.indexOf(HEAD); head >= 0; head = text.indexOf(HEAD, at)) {
    if (head > at) found.push({ kind: "text", text: text.slice(at, head), isWhole: true });
    const start = head + BEGIN.length;
    const end = endOfCall(text, start);
    found.push({ kind: "call", text: text.slice(start, end), isWhole: text.startsWith(END, end) });
    const sign = END.startsWith(text.slice(end, end + END.length)) ? END.length : 0;
    at = end + sign;
  }
  if (at < text.length) found.push({ kind: "text", text: text.slice(at), isWhole: true });
  return found;
}

/** The place after the call's last brace. start: of its first. */
function endOfCall(text: string, start: number): number {
  const before = text.indexOf(BEFORE_ARGUMENTS, start);
  if (before < 0) return text.length;
  let [depth, isQuoted] = [0, false];
  for (let place = before + BEFORE_ARGUMENTS.length; place < text.length; place++) {
    const character = text[place]!;
    if (isQuoted && character === "\\") place += 1;
    else if (character === '"') isQuoted = !isQuoted;
    else if (!isQuoted && "{[".includes(character)) depth += 1;
    else if (!isQuoted && "}]".includes(character) && --depth === 0)
      return text[place + 1] === "}" ? place + 2 : place + 1;
  }
  return text.length;
}

/** The calls that have a result, in the order in which the model made them; first those that a fork kept. */
export function callsOf(view: TraceView): ToolCall[] {
  return [...keptCalls(view), ...ownCalls(view)];
}

function keptCalls({ generations }: TraceView): ToolCall[] {
  return (generations[0]?.forked?.rounds ?? []).flatMap(({ calls }) => calls);
}

function ownCalls(view: TraceView): ToolCall[] {
  const results = new Map(allResults(view).map((each) => [each.call_id, each]));
  return madeCalls(view).flatMap(({ call_id, name, arguments: given }) => {
    const found = results.get(call_id);
    return found ? [{ name, arguments: given, result: found.result, is_error: found.is_error }] : [];
  });
}
