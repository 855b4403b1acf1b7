/** A call as text to copy: for a shell with curl, and for Python. The key stays in the reader's environment. */
import { toJson, toPython, type Json } from "./json";
import { OWN_FIELDS, type Call } from "./request-body";

export const KEY = "SIGHTGLASS_API_KEY";

/** The body stands in a quoted here-document: the shell reads nothing in it, and its length has no limit. */
export function curlOf({ api, path, body }: Call, address: string): string {
  const headers =
    api === "anthropic"
      ? [`-H "x-api-key: $${KEY}"`, `-H 'anthropic-version: 2023-06-01'`]
      : [`-H "Authorization: Bearer $${KEY}"`];
  const words = [`curl ${quoted(address + path)}`, ...headers, `-H 'Content-Type: application/json'`];
  return `${[...words, `--data-binary @- <<'JSON'`].join(" \\\n  ")}\n${toJson(body)}\nJSON\n`;
}

/** One word of a POSIX shell. */
export const quoted = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`;

export function pythonOf(call: Call, address: string): string {
  if (call.api === "own") return ownPython(call, address);
  return call.api === "anthropic" ? anthropicPython(call, address) : openaiPython(call, address);
}

function openaiPython({ path, body }: Call, address: string): string {
  const named = split(body, (name) => !OWN_FIELDS.includes(name));
  const create = path === "/v1/completions" ? "completions" : "chat.completions";
  const shown = path === "/v1/completions" ? "text" : "message";
  return script(
    "from openai import OpenAI",
    `client = OpenAI(base_url=${toPython(`${address}/v1`)}, api_key=os.environ["${KEY}"])`,
    `answer = client.${create}.create(\n${keywords(named)})`,
    `print(answer.choices[0].${shown})`,
  );
}

/** A body whose other fields stand in `extra_body`, which both packages send beside those that they name. */
function split(body: Call["body"], isNamed: (name: string) => boolean): Call["body"] {
  const entries = Object.entries(body);
  const extra = Object.fromEntries(entries.filter(([name]) => !isNamed(name)));
  const named = Object.fromEntries(entries.filter(([name]) => isNamed(name)));
  return Object.keys(extra).length ? { ...named, extra_body: extra } : named;
}

/** What `messages.create` of the package takes by name. It sends the rest of a body as it is. */
const NAMED_BY_ANTHROPIC = [
  ...["model", "max_tokens", "messages", "system", "stop_sequences", "tools", "tool_choice"],
  ...["cache_control", "metadata", "output_config", "service_tier", "thinking"],
];

function anthropicPython({ body }: Call, address: string): string {
  const named = split(body, (name) => NAMED_BY_ANTHROPIC.includes(name));
  return script(
    "from anthropic import Anthropic",
    // A time limit of one's own: without it the package refuses long answers that are not streamed.
    `client = Anthropic(base_url=${toPython(address)}, api_key=os.environ["${KEY}"], timeout=600)`,
    `answer = client.messages.create(\n${keywords(named)})`,
    "print(answer.content)",
  );
}

function ownPython({ path, body }: Call, address: string): string {
  return script(
    "import urllib.request",
    `headers = {"Authorization": "Bearer " + os.environ["${KEY}"], "Content-Type": "application/json"}`,
    `body = json.dumps(${toPython(body)}).encode()`,
    `call = urllib.request.Request(${toPython(address + path)}, body, headers)`,
    "print(urllib.request.urlopen(call).read().decode())",
  );
}

function script(library: string, ...lines: string[]): string {
  const text = lines.join("\n");
  const own = [...(text.includes("json.") ? ["import json"] : []), "import os"];
  const imports = library.startsWith("import") ? [...own, library] : [...own, "", library];
  return `${[...imports, "", ...lines].join("\n")}\n`;
}

function keywords(body: { [name: string]: Json }): string {
  return Object.entries(body)
    .map(([name, value]) => `  ${name}=${toPython(value, "  ")},\n`)
    .join("");
}
