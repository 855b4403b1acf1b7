// @vitest-environment jsdom
import { flushSync, mount, unmount } from "svelte";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { AnyEvent } from "../../protocol/events";
import { RequestTrace } from "../../state/request/request-trace.svelte";
import { ACCEPTED, ended, FORKED } from "../../trace/fixtures";
import CachePanel from "../cache/CachePanel.svelte";
import ContextPanel from "./ContextPanel.svelte";

const segment = { kind: "system", role: "system", start: 0, end: 40, source: "conversation:system" };
const CONTEXT = {
  type: "context.assembled",
  at: 1,
  window: 100,
  reserved_output: 10,
  num_prompt_tokens: 40,
  segments: [{ ...segment, text: "Be brief." }],
  dropped: [],
  duration_us: 1,
} as unknown as AnyEvent;
const COMPARED = {
  type: "context.compared",
  at: 9,
  request_id: "req_before",
  model: "m",
  num_prompt_tokens: 60,
  num_answer_tokens: 20,
  num_common_tokens: 4,
  here: [btoa("x")],
  there: [],
  is_number: false,
  added: [],
  changed: [{ index: 0, num_tokens: 50, text: "" }],
  removed: [{ kind: "user", source: "m1", num_tokens: 9, reason: "the window is full", text: "" }],
} as AnyEvent;
const TEXTS = {
  ...COMPARED,
  changed: [{ index: 0, num_tokens: 50, text: "Be long." }],
  removed: [{ kind: "user", source: "m1", num_tokens: 9, reason: "the window is full", text: "A question" }],
};

let panel: object | null = null;
let asked: string[];
let answer: { status: number; body: object };

beforeEach(() => {
  asked = [];
  vi.stubGlobal("fetch", (path: string) => {
    asked.push(path);
    return Promise.resolve(new Response(JSON.stringify(answer.body), { status: answer.status }));
  });
});
afterEach(() => {
  if (panel) void unmount(panel);
  panel = null;
  vi.unstubAllGlobals();
});

function open(requestId: string): RequestTrace {
  const trace = new RequestTrace(requestId);
  [ACCEPTED, CONTEXT, COMPARED].forEach((event, index) => trace.receive(event, index + 1));
  show(ContextPanel, trace);
  return trace;
}

function show(Panel: typeof ContextPanel | typeof CachePanel, trace: RequestTrace): void {
  if (panel) void unmount(panel);
  panel = mount(Panel, { target: document.body, props: { trace, view: trace.view } });
  flushSync();
}

const text = () => document.body.textContent!.replace(/\s+/g, " ");

it("tells what the turn before said, as its own trace has it", async () => {
  answer = { status: 200, body: TEXTS };
  open("req_a");
  expect(text()).toContain("Before, with 50 tokens: …");
  await vi.waitFor(() => expect(text()).toContain("Before, with 50 tokens: Be long."));
  expect(text()).toContain("A question the window is full");
  expect(asked).toEqual(["/api/requests/req_a/compared"]);
});

it("says that the turn before was deleted, and keeps the counts", async () => {
  const message = "The turn before was deleted, together with its text.";
  answer = { status: 410, body: { error: { code: "deleted", message } } };
  open("req_a");
  await vi.waitFor(() => expect(text()).toContain(`Before, with 50 tokens: ${message}`));
  expect(text()).toContain("40 tokens in changed segments, 0 tokens new, 9 tokens gone");
});

it("says what a fork read beside the prompt", () => {
  const trace = new RequestTrace("");
  [ACCEPTED, CONTEXT, FORKED].forEach((event, index) => trace.receive(event, index + 1));
  show(ContextPanel, trace);
  expect(text()).toContain("40 prompt · 3 of the answer it continues · 10 kept for the answer");
  expect(text()).toContain("43.0 % used");
});

it("knows the first message of a chat, which has no turn before", () => {
  const first = { ...CONTEXT, segments: [{ ...segment, kind: "user", text: "Why?" }] } as AnyEvent;
  const trace = new RequestTrace("");
  [ACCEPTED, first, ...ended("stop")].forEach((event, index) => trace.receive(event, index + 1));
  show(ContextPanel, trace);
  expect(text()).toContain("First message of this chat: there is no turn before.");
  expect(text()).not.toContain("deleted");
});

it("tells the tokens of each tool that the prompt declares", () => {
  const lines = ["<tools>\n", '{"name": "sum", "parameters": {}}\n', "</tools>"];
  const prompt = { type: "prompt.tokenized", at: 2, ids: [1, 2, 3], pieces: lines.map(btoa), special: [] };
  const declared = { ...segment, kind: "tools", end: 3, text: lines.join("") };
  const context = { ...CONTEXT, num_prompt_tokens: 3, segments: [declared] };
  const trace = new RequestTrace("");
  const accepted = { ...ACCEPTED, features: [] };
  [accepted, context, prompt].forEach((event, index) => trace.receive(event as AnyEvent, index + 1));
  show(ContextPanel, trace);
  const rows = [...document.querySelectorAll("[data-testid=tool-costs] tbody tr")];
  expect(rows.map((row) => row.textContent!.trim().replace(/\s+/g, " "))).toEqual([
    "sum1",
    "the words around them2",
  ]);
});

it("asks nobody where there is no server", () => {
  open("");
  expect(asked).toEqual([]);
  expect(text()).toContain("This file does not hold the text of the turn before.");
});

it("asks once for a trace, whichever panels want to know", async () => {
  answer = { status: 200, body: TEXTS };
  const trace = open("req_a");
  await vi.waitFor(() => expect(text()).toContain("Be long."));
  show(CachePanel, trace);
  show(ContextPanel, trace);
  expect(text()).toContain("Be long.");
  expect(asked).toHaveLength(1);
});

it("asks again at the next look where the server was not reached", async () => {
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("offline")));
  const trace = open("req_a");
  await vi.waitFor(() => expect(text()).toContain("could not be reached"));
  vi.stubGlobal("fetch", () => Promise.resolve(new Response(JSON.stringify(TEXTS))));
  show(ContextPanel, trace);
  await vi.waitFor(() => expect(text()).toContain("Before, with 50 tokens: Be long."));
  expect(text()).not.toContain("could not be reached");
});
