/** A call as text to copy: for a shell with curl, and for Python. The key stays in the reader's environment. */
import { membersOf, Raw, toJson, toPython, type Json } from "./json";
import { packageOf, type Package } from "./packages";
import type { Call } from "./request-body";

export const KEY = "SIGHTGLASS_API_KEY";

/** The body stands in a quoted here-document: the shell reads nothing in it, and its length has no limit. */
export function curlOf({ api, path, body }: Call, address: string): string {
  const headers =
    api === "anthropic"
      ? [`-H "x-api-key: $${KEY}"`, `-H 'anthropic-version: 2023-06-01'`]
      : [`-H "Authorization: Bearer $${KEY}"`];
  const command = isStreamed(body) ? "curl -N" : "curl";
  const words = [`${command} ${quoted(address + path)}`, ...headers, `-H 'Content-Type: application/json'`];
  return `${[...words, `--data-binary @- <<'JSON'`].join(" \\\n  ")}\n${toJson(body)}\nJSON\n`;
}

/** One word of a POSIX shell. */
export const quoted = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`;

export function pythonOf(call: Call, address: string): string {
  const found = call.api === "own" ? null : packageOf(call.path);
  return found ? packagePython(call, address, found) : ownPython(call, address);
}

function packagePython({ path, body }: Call, address: string, found: Package): string {
  const client = found.api === "anthropic" ? "Anthropic" : "OpenAI";
  const base = address + path.slice(0, -found.ending.length);
  // A time limit of one's own: without it Anthropic's package refuses long answers that are not streamed.
  const limit = found.api === "anthropic" ? ", timeout=600" : "";
  return script(
    `from ${found.api} import ${client}`,
    `client = ${client}(base_url=${toPython(base)}, api_key=os.environ["${KEY}"]${limit})`,
    `answer = client.${found.create}(\n${keywords(named(body, found))})`,
    isStreamed(body) ? "for event in answer:\n  print(event)" : `print(answer.${found.shown})`,
  );
}

/** A body whose other fields stand in `extra_body`, which both packages send beside those that they name. */
function named(body: Call["body"], { names, defaults }: Package): { [name: string]: Json } {
  const entries = entriesOf(body);
  const extra = Object.fromEntries(entries.filter(([name]) => !names.includes(name)));
  const known = Object.fromEntries(entries.filter(([name]) => names.includes(name)));
  return { ...defaults, ...known, ...(Object.keys(extra).length > 0 && { extra_body: extra }) };
}

const entriesOf = (body: Call["body"]): [string, Json][] =>
  body instanceof Raw ? membersOf(body.json) : Object.entries(body);

const isStreamed = (body: Call["body"]) =>
  entriesOf(body).some(([name, value]) => name === "stream" && toJson(value) === "true");

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
