// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import type { BroughtPair } from "../../protocol/api";
import BringPage from "./BringPage.svelte";

let page: object;
let asked: BroughtPair[] = [];
let opened: string[] = [];
let refusal = "";

const PART = { role: "user", place: "messages[0]", text: "<b>Hi</b>", num_chars: 9, breakpoint: null };
const body = (given: BroughtPair) => ({
  kind: "chat",
  is_certain: true,
  named_model: "gpt-elsewhere",
  model: "small",
  num_tokens: 12,
  window: 100,
  parts: [{ ...PART, what: "new message", start: 0, end: 12 }],
  num_parts: 1,
  num_prompts: 1,
  prefix: null,
  num_cached: null,
  difference: given.before
    ? {
        num_before: 5,
        num_common: 4,
        num_reusable: null,
        part: 0,
        here: "x",
        there: "y",
        is_number: false,
        added: [0],
        changed: [],
        removed: [],
      }
    : null,
  problem: null,
});

function answer(address: string, { body: sent }: RequestInit): Promise<Response> {
  const reply = (status: number, value: unknown) =>
    Promise.resolve(new Response(JSON.stringify(value), { status }));
  if (address === "/api/bring/prices") return reply(200, { tables: [] });
  const given = JSON.parse(sent as string) as BroughtPair;
  if (address === "/api/bring/send") return reply(202, { requests: ["req_1"] });
  asked.push(given);
  if (refusal) return reply(400, { error: { code: "invalid_json", message: refusal } });
  return reply(200, { body: body(given), answer: null });
}

beforeEach(() => {
  [asked, opened, refusal] = [[], [], ""];
  vi.stubGlobal("fetch", vi.fn(answer));
  page = mount(BringPage, {
    target: document.body,
    props: { session: null, onOpen: (address: string) => opened.push(address) },
  });
  flushSync();
});

afterEach(async () => {
  await unmount(page);
  vi.unstubAllGlobals();
  document.body.innerHTML = "";
});

const button = (name: string) =>
  [...document.querySelectorAll("button")].find(({ textContent }) => textContent?.trim().startsWith(name))!;
const text = () => document.body.textContent.replace(/\s+/g, " ");

async function write(value: string) {
  const field = document.querySelector("textarea")!;
  field.value = value;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  flushSync();
  button("Take apart").click();
  flushSync();
  await vi.waitFor(() => expect(button("Take apart").disabled).toBe(false));
  flushSync();
}

it("shows the parts of a pasted body as text", async () => {
  await write('{"messages": []}');
  expect(text()).toContain("OpenAI chat completions · for gpt-elsewhere · 12 tokens by small");
  expect(text()).toContain("<b>Hi</b>");
  expect(document.querySelector("pre b")).toBeNull();
  expect(text()).toContain("No model here has prices, so the cost is unknown.");
});

it("compares a turn with the body before it", async () => {
  await write("first");
  expect(text()).toContain("There is none. Add the next turn");
  button("Next turn").click();
  flushSync();
  await write("second");
  expect(asked.at(-1)).toMatchObject({ text: "second", before: "first" });
  expect(text()).toContain("The first 4 tokens are the same as before");
});

it("tells a refusal, and forgets it once the text is another", async () => {
  refusal = "The text is no valid JSON: line 1.";
  await write("{");
  expect(document.querySelector('[role="alert"]')?.textContent).toBe(refusal);
  const field = document.querySelector("textarea")!;
  field.value = "{}";
  field.dispatchEvent(new Event("input", { bubbles: true }));
  flushSync();
  expect(document.querySelector('[role="alert"]')).toBeNull();
  expect(text()).toContain("The text has changed.");
});

it("takes an example apart by one click", async () => {
  button("Take the example apart").click();
  await vi.waitFor(() => expect(asked).toHaveLength(1));
  expect(asked[0]!.text).toContain("tool_result");
  expect(asked[0]!.before).not.toContain("tool_result");
});

it("sends the body by the model that has read it, and opens its request", async () => {
  await write("body");
  button("Send it to small").click();
  await vi.waitFor(() => expect(opened).toEqual(["/requests/req_1"]));
});
