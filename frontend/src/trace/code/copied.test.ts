// @vitest-environment node
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AnyEvent, SamplingParams, Segment } from "../../protocol/events";
import { PARAMS, foldAll } from "../fixtures";
import { curlOf, pythonOf } from "./copied";
import { Raw, toJson, toPython } from "./json";
import { callOf, type Call } from "./request-body";

const GOLDEN = new URL("../../../../tests/golden/logs/", `file://${import.meta.dirname}/`).pathname;
const ADDRESS = "http://127.0.0.1:8000";

const eventsOf = (name: string) =>
  (
    JSON.parse(readFileSync(join(GOLDEN, name), "utf8")) as { frames: { events: AnyEvent[] }[] }
  ).frames.flatMap(({ events }) => events);

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "copied-"));
  // In curl's place: tells its words, one a line as JSON would be too much of a shell, and its input.
  writeFileSync(
    join(folder, "curl"),
    `#!/bin/sh\nprintf '%s\\0' "$@" > "${folder}/words"\ncat > "${folder}/body"\n`,
    {
      mode: 0o755,
    },
  );
});
afterAll(() => rmSync(folder, { recursive: true }));

function runShell(text: string): { words: string[]; body: string } {
  const env = { PATH: `${folder}:${process.env.PATH}`, SIGHTGLASS_API_KEY: "sg-key", HOME: folder };
  const done = spawnSync("sh", { input: text, env, cwd: folder });
  expect(done.status, done.stderr.toString()).toBe(0);
  const words = readFileSync(join(folder, "words"), "utf8").split("\0").slice(0, -1);
  return { words, body: readFileSync(join(folder, "body"), "utf8") };
}

const segment = (given: Partial<Segment>): Segment => ({
  kind: "user",
  role: "user",
  start: 0,
  end: 1,
  source: "api:messages[0]",
  text: "",
  breakpoint: null,
  image: null,
  ...given,
});
const TEMPLATE = segment({ kind: "template", role: "", source: "template", text: "<|im_end|>\n" });

function viewOf(
  segments: Segment[],
  surface = "openai",
  params: Partial<SamplingParams> = {},
  features: string[] = [],
) {
  return foldAll([
    { type: "request.accepted", at: 0, surface, model: "m", params: { ...PARAMS, ...params }, features },
    { type: "context.assembled", at: 1, generation: 0, segments, dropped: [], window: 100 },
    { type: "prompt.tokenized", at: 2, generation: 0, ids: [7, 8], pieces: ["YQ==", "Yg=="], special: [] },
  ] as unknown as AnyEvent[]);
}

const called = (segments: Segment[], surface = "openai", params: Partial<SamplingParams> = {}) =>
  callOf(viewOf(segments, surface, params), "req_1") as Call;

const bodyOf = (call: Call) => JSON.parse(toJson(call.body)) as Record<string, unknown>;

const HOSTILE = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom(
    "\nJSON\nrm -rf /\n",
    "'; touch pwned; '",
    "$(touch pwned) `touch pwned` ${HOME} !! \\",
    "\u202e\u2028\u0000\u001b[201~\u009b",
    "JSON",
  ),
);

describe("the text for a shell", () => {
  it("sends exactly the body, whatever is in the messages", () => {
    fc.assert(
      fc.property(fc.array(HOSTILE, { minLength: 1, maxLength: 4 }), HOSTILE, (texts, stop) => {
        const segments = texts.flatMap((text) => [TEMPLATE, segment({ text })]);
        const call = called(segments, "openai", { stop: [stop] });
        const text = curlOf(call, ADDRESS);
        const { words, body } = runShell(text);
        expect(JSON.parse(body)).toEqual(bodyOf(call));
        expect((bodyOf(call).messages as { content: string }[]).map(({ content }) => content)).toEqual(texts);
        expect(words).toContain("Authorization: Bearer sg-key");
        expect(words).toContain(`${ADDRESS}/v1/chat/completions`);
        expect(text).not.toContain("sg-key");
        expect(existsSync(join(folder, "pwned"))).toBe(false);
      }),
      { numRuns: 60 },
    );
  });

  it("has no character that a terminal or a history obeys", () => {
    fc.assert(
      fc.property(HOSTILE, (text) => {
        const copied = curlOf(called([segment({ text })]), ADDRESS);
        // eslint-disable-next-line no-control-regex
        expect(copied).not.toMatch(/[!\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/);
      }),
    );
  });
});

describe("the text for Python", () => {
  it("gives the package exactly the body", () => {
    fc.assert(
      fc.property(fc.array(HOSTILE, { minLength: 1, maxLength: 3 }), (texts) => {
        const schema = '{"type": "object", "b": 1, "10": 2, "9": 3}';
        const segments = texts.flatMap((text) => [TEMPLATE, segment({ text })]);
        const call = called(segments, "openai", { json_schema: schema });
        expect(runPython(pythonOf(call, ADDRESS))).toEqual(bodyOf(call));
      }),
      { numRuns: 12 },
    );
  });

  it("names to Anthropic's package what it takes by name, and sends the rest beside", () => {
    const call = called([segment({ text: "Hello" })], "anthropic", { temperature: 0.5, top_p: 0.9 });
    const { temperature, top_p, messages } = runPython(pythonOf(call, ADDRESS)) as Record<string, unknown>;
    expect([temperature, top_p, messages]).toEqual([0.5, 0.9, bodyOf(call).messages]);
  });

  function runPython(text: string): unknown {
    const library = `
class OpenAI:
    def __init__(self, **given): self.chat = self.completions = self
    def create(self, extra_body={}, **body):
        import json, sys
        json.dump({**body, **extra_body}, sys.stdout)
        sys.exit(0)
`;
    // As that package's: it refuses other names, temperature among them.
    const anthropic = `
class Anthropic:
    def __init__(self, **given): self.messages = self
    def create(self, *, max_tokens, messages, model, system="", stop_sequences=[], tools=[], tool_choice={},
               cache_control=None, extra_body={}):
        import json, sys
        json.dump({"model": model, "max_tokens": max_tokens, "messages": messages, **extra_body}, sys.stdout)
        sys.exit(0)
`;
    writeFileSync(join(folder, "openai.py"), library);
    writeFileSync(join(folder, "anthropic.py"), anthropic);
    const env = { PATH: process.env.PATH, PYTHONPATH: folder, SIGHTGLASS_API_KEY: "k" };
    const done = spawnSync("python3", ["-"], { input: text, env });
    expect(done.status, done.stderr.toString()).toBe(0);
    return JSON.parse(done.stdout.toString());
  }
});

describe("the body", () => {
  it("of a recorded chat has its messages, settings and seed", () => {
    const view = foldAll(eventsOf("second_turn.json"));
    const call = callOf(view, "req_1") as Call;
    const { messages, seed, temperature } = bodyOf(call);
    const said = view.context!.segments.filter(({ source }) => source !== "template");
    expect((messages as { content: string }[]).map(({ content }) => content)).toEqual(
      said.map(({ text }) => text),
    );
    expect(seed).toBe(view.accepted!.params.seed);
    expect(temperature).toBe(view.accepted!.params.temperature);
  });

  it("keeps the parts of one message together", () => {
    const call = called([
      segment({ text: "a" }),
      segment({ text: "\n\nb" }),
      TEMPLATE,
      segment({ text: "c" }),
    ]);
    expect(bodyOf(call).messages).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "\n\nb" },
        ],
      },
      { role: "user", content: "c" },
    ]);
  });

  const tools = segment({
    kind: "tools",
    role: "system",
    source: "tools",
    breakpoint: "5m",
    text: [
      "\n\nYou can call these tools:",
      "<tools>",
      '{"name": "look", "description": "Say \\"x\\"", "parameters": {"type": "object", "9": 1, "8": 2}}',
      '{"name": "go", "parameters": {"type": "object"}}',
      "</tools>",
    ].join("\n"),
  });
  const system = segment({ kind: "system", role: "system", text: "Be brief.", breakpoint: "1h" });
  const look = { name: "look", description: 'Say "x"', parameters: "{}", is_strict: true };

  it("of Anthropic's API has breakpoints, tools and the choice", () => {
    const call = called([system, tools, TEMPLATE, segment({ text: "Hi", breakpoint: "5m" })], "anthropic", {
      tool_calls: { tools: [look], is_required: true, is_parallel: false },
    });
    const body = bodyOf(call);
    expect(body.system).toEqual([
      { type: "text", text: "Be brief.", cache_control: { type: "ephemeral", ttl: "1h" } },
    ]);
    expect(body.tool_choice).toEqual({ type: "tool", name: "look", disable_parallel_tool_use: true });
    expect((body.tools as object[]).map((each) => "cache_control" in each)).toEqual([false, true]);
    expect(body.messages).toEqual([
      {
        role: "user",
        content: [{ type: "text", text: "Hi", cache_control: { type: "ephemeral", ttl: "5m" } }],
      },
    ]);
    expect(call.notes.join()).toContain("no seed");
  });

  it("of OpenAI's API has breakpoints, and says that they last longer", () => {
    const call = called([
      system,
      TEMPLATE,
      segment({ text: "Hi", breakpoint: "5m" }),
      TEMPLATE,
      segment({ text: "So" }),
    ]);
    const kept = { prompt_cache_breakpoint: { mode: "explicit" } };
    expect(bodyOf(call).messages).toEqual([
      { role: "system", content: [{ type: "text", text: "Be brief.", ...kept }] },
      { role: "user", content: [{ type: "text", text: "Hi", ...kept }] },
      { role: "user", content: "So" },
    ]);
    expect(call.notes.join()).toContain("for an hour");
    expect(called([system]).notes.join()).not.toContain("for an hour");
  });

  it("keeps the order of a schema's names", () => {
    const call = called([system, tools, TEMPLATE, segment({ text: "Hi" })]);
    expect(toJson(call.body).replace(/\s+/g, " ")).toContain('{ "type": "object", "9": 1, "8": 2 }');
    expect(bodyOf(call).tool_choice).toBe("none");
  });

  it("tells of the server's tools that a call to the API does not run", () => {
    const view = viewOf([segment({ text: "Hi" })], "chat", {}, ["tool:calculator", "other"]);
    expect((callOf(view, "req_1") as Call).notes.join()).toContain("The server ran calculator here");
    expect(called([segment({ text: "Hi" })]).notes.join()).not.toContain("The server ran");
  });

  it("of a completion has the prompt's tokens", () => {
    const call = called([segment({ source: "api:prompt", text: "ab" })]);
    expect(call.path).toBe("/v1/completions");
    expect(bodyOf(call).prompt).toEqual([7, 8]);
  });

  it("runs the saved request where OpenAI's API lacks a setting", () => {
    const call = called([segment({ text: "Hi" })], "chat", { regex: "a+", stop_on_repetition: false });
    expect(call.path).toBe("/api/requests/req_1/reruns");
    expect(call.notes.join()).toContain("regex, repetition allowed");
    expect(callOf(viewOf([segment({ text: "Hi" })], "chat", { regex: "a+" }), null)).toContain("not saved");
  });

  const HOSTILE_JSON = "{\"a\": __import__('os').system('id')}";

  it("is not made of a schema that is no JSON", () => {
    const view = viewOf([segment({ text: "Hi" })], "openai", { json_schema: HOSTILE_JSON });
    expect(callOf(view, "req_1")).toContain("damaged");
  });

  it.each([`"parameters": ${HOSTILE_JSON}`, '"description": "\\q", "parameters": {}'])(
    "is not made of a tool that is no JSON: %s",
    (rest) => {
      const text = `{"name": "look", ${rest}}`;
      const view = viewOf([segment({ kind: "tools", source: "tools", text }), segment({ text: "Hi" })]);
      expect(callOf(view, "req_1")).toContain("damaged");
    },
  );

  it("is not made of removed texts", () => {
    expect(callOf(viewOf([segment({ text: "[redacted]" })]), null)).toContain("were removed");
  });
});

it("writes raw JSON with its names in their order and its numbers digit by digit", () => {
  const json = '{"b":"!","10":1.0,"9":[12345678901234567890,1E400,-0,true,null,[],{}]}';
  const plain = toJson(new Raw(json)).replace(/\s+/g, "");
  expect(plain).toBe(json.replace("!", "\\u0021"));
  expect(toPython(new Raw('["!", true, "\\ud83d\\ude00\\/"]'))).toBe('[\n  "!",\n  True,\n  "😀/"\n]');
});

/** As a client may write it: with any space, escapes and order. */
function spelled(value: unknown, space: string): string {
  const json = JSON.stringify(value, null, space);
  return space
    ? json
    : json.replace(/[\u0080-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

const VALUE = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    HOSTILE,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(HOSTILE, tie("value"), { maxKeys: 3 }),
  ),
})).value;

/** Bodies of every family, with fields that each package knows and others. */
const BODY = fc.record(
  {
    model: HOSTILE,
    messages: fc.array(VALUE, { maxLength: 3 }),
    prompt: VALUE,
    input: VALUE,
    max_tokens: fc.integer(),
    tools: fc.array(VALUE, { maxLength: 2 }),
    tool_choice: VALUE,
    temperature: fc.double({ noNaN: true, noDefaultInfinity: true }),
    top_k: fc.integer(),
    encoding_format: fc.constantFrom("float", "base64"),
    cache_control: VALUE,
    "an-unknown field": VALUE,
  },
  { requiredKeys: ["model", "messages", "prompt", "input", "max_tokens", "encoding_format"] },
);

const PATHS = fc.constantFrom(
  ...["/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/embeddings", "/v1/messages"],
  "/record/an-agent/v1/chat/completions",
);

function viewOfSent(path: string, body: string) {
  const accepted = { type: "request.accepted", at: 0, surface: "openai", model: "m", params: PARAMS };
  return foldAll([{ ...accepted, sent: { path, body } }] as unknown as AnyEvent[]);
}

const sentTo = (path: string, body: string) => callOf(viewOfSent(path, body), "req_1") as Call;

describe("a client's own call", () => {
  it("is sent by the shell as it came, whatever is in it", () => {
    fc.assert(
      fc.property(PATHS, BODY, fc.constantFrom("", " ", "\t", "  "), (path, value, space) => {
        const { words, body } = runShell(curlOf(sentTo(path, spelled(value, space)), ADDRESS));
        expect(JSON.parse(body)).toEqual(JSON.parse(spelled(value, space)));
        expect(words).toContain(`${ADDRESS}${path}`);
        expect(existsSync(join(folder, "pwned"))).toBe(false);
      }),
      { numRuns: 60 },
    );
  });

  it("is given to each package as it came", () => {
    fc.assert(
      fc.property(PATHS, BODY, fc.constantFrom("", "  "), (path, value, space) => {
        expect(runPackage(pythonOf(sentTo(path, spelled(value, space)), ADDRESS))).toEqual({
          path,
          body: JSON.parse(spelled(value, space)) as unknown,
        });
      }),
      { numRuns: 25 },
    );
  });

  it.each([
    `{"model":"m","n":__import__('os').system('id')}`,
    ...["{a: 1}", '{"a": "\\q"}', "]", "{}}", "[]", "3", "", '{"n": NaN}', '{"n": 0x10}', '{"n": 1_000}'],
  ])("that is no JSON object is not copied: %s", (body) => {
    expect(callOf(viewOfSent("/v1/chat/completions", body), "req_1")).toContain("damaged");
  });

  it.each([
    "@evil.example/v1/chat/completions",
    ".evil.example/v1/chat/completions",
    ":1@evil.example/v1/messages",
    "/v1/messages\n",
    "/v1/messages?to=x",
    "/record/a/b/v1/messages",
    "",
  ])("to another address is not copied: %j", (path) => {
    expect(callOf(viewOfSent(path, "{}"), "req_1")).toContain("no address of this API");
  });

  it("keeps the results of tools, a named function and what the client left out", () => {
    const body = {
      model: "m",
      messages: [
        { role: "user", content: "Look!" },
        {
          role: "assistant",
          tool_calls: [{ id: "c1", type: "function", function: { name: "look", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "c1", content: "A door." },
      ],
      tools: [{ type: "function", function: { name: "look" } }],
      tool_choice: { type: "function", function: { name: "look" } },
    };
    const call = sentTo("/v1/chat/completions", JSON.stringify(body));
    expect(bodyOf(call)).toEqual(body);
    expect(pythonOf(call, ADDRESS)).toContain('"Look!"');
    expect(call.notes.join()).toContain("no seed");
  });

  it("is read as a stream where the client asked for one", () => {
    const call = sentTo("/v1/messages", '{"model": "m", "stream": true}');
    expect(curlOf(call, ADDRESS)).toContain("curl -N ");
    expect(pythonOf(call, ADDRESS)).toContain("for event in answer:");
  });

  function runPackage(text: string): unknown {
    const fake = (name: string, ending: string) => `
class ${name}:
    def __init__(self, base_url, **given):
        self.base, self.path = base_url.removeprefix("${ADDRESS}"), []
    def __getattr__(self, name):
        self.path.append(name)
        return self
    def __call__(self, extra_body={}, **body):
        import json, sys
        path = self.base + ${ending} + "/".join(self.path[:-1])
        json.dump({"path": path, "body": {**body, **extra_body}}, sys.stdout)
        sys.exit(0)
`;
    writeFileSync(join(folder, "openai.py"), fake("OpenAI", '"/"'));
    writeFileSync(join(folder, "anthropic.py"), fake("Anthropic", '"/v1/"'));
    const env = { PATH: process.env.PATH, PYTHONPATH: folder, SIGHTGLASS_API_KEY: "k" };
    const done = spawnSync("python3", ["-"], { input: text, env });
    expect(done.status, done.stderr.toString() + text).toBe(0);
    return JSON.parse(done.stdout.toString());
  }
});
