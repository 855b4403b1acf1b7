/** The messages of a prompt as an API's body has them, read from its segments. */
import type { Segment } from "../../protocol/events";
import { definitionIn, type Declared } from "../definitions";
import type { Json } from "./json";

export interface Said {
  role: string;
  /** Its parts, in order. */
  parts: Segment[];
}

/** The template's own text and the tools' definitions are no messages. */
export function saidIn(segments: Segment[]): Said[] {
  const found: Said[] = [];
  let isContinued = false;
  for (const segment of segments) {
    const isOfMessage = segment.source !== "template" && segment.kind !== "tools";
    const last = found.at(-1);
    if (isOfMessage && isContinued && last?.role === segment.role) last.parts.push(segment);
    else if (isOfMessage) found.push({ role: segment.role, parts: [segment] });
    isContinued = isOfMessage;
  }
  return found;
}

/** The tools that the prompt declares. */
export function declaredIn(segments: Segment[]): Declared[] {
  const lines = segments.filter(({ kind }) => kind === "tools").flatMap(({ text }) => text.split("\n"));
  return lines.flatMap((line) => definitionIn(line) ?? []);
}

/** OpenAI's form: a text, or parts where there are several or one ends at a breakpoint. */
export function openaiMessage({ role, parts }: Said): Json {
  const isPlain = parts.length === 1 && !parts[0]!.breakpoint;
  return { role, content: isPlain ? parts[0]!.text : parts.map(textPart) };
}

const textPart = ({ text, breakpoint }: Segment): Json => ({
  type: "text",
  text,
  ...(breakpoint && { prompt_cache_breakpoint: { mode: "explicit" } }),
});

/** Anthropic's form: a block of text for each part. */
export function textBlock({ text, breakpoint }: Segment): Json {
  return { type: "text", text, ...(breakpoint && { cache_control: cacheControl(breakpoint) }) };
}

export const cacheControl = (ttl: string): Json => ({ type: "ephemeral", ttl });
