/** The messages of a prompt as an API's body has them, read from its segments. */
import type { Segment } from "../../protocol/events";
import type { Json } from "./json";

export interface Said {
  role: string;
  /** Its parts, in order. */
  parts: Segment[];
}

export interface Declared {
  name: string;
  description: string;
  /** JSON Schema, as JSON text. */
  parameters: string;
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

const DEFINITION = /^\{"name": "([^"]*)"(?:, "description": ("(?:[^"\\]|\\.)*"))?, "parameters": (.*)\}$/;

/** The tools that the prompt declares, one a line: see webapp/context/tools.py. */
export function declaredIn(segments: Segment[]): Declared[] {
  const lines = segments.filter(({ kind }) => kind === "tools").flatMap(({ text }) => text.split("\n"));
  return lines.flatMap((line) => {
    const found = DEFINITION.exec(line);
    if (!found) return [];
    const [, name, description, parameters] = found;
    return [
      {
        name: name!,
        description: description ? (JSON.parse(description) as string) : "",
        parameters: parameters!,
      },
    ];
  });
}

/** OpenAI's form. */
export function openaiMessage({ role, parts }: Said): Json {
  const [only, ...others] = parts;
  const content = others.length ? parts.map(({ text }) => ({ type: "text", text })) : only!.text;
  return { role, content };
}

/** Anthropic's form: a block of text for each part. */
export function textBlock({ text, breakpoint }: Segment): Json {
  return { type: "text", text, ...(breakpoint && { cache_control: cacheControl(breakpoint) }) };
}

export const cacheControl = (ttl: string): Json => ({ type: "ephemeral", ttl });
