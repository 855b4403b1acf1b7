// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import type { Key } from "../protocol/api";
import OwnKeys from "./OwnKeys.svelte";

const SECRET = "sg-abcdefgh0123456789";
let listed: Key[] = [];
let mostLive = 100;
let refusal = "";
let sent: { call: string; body: unknown }[] = [];
let page: object;

const NO_LIMITS = {
  max_open: null,
  requests_per_minute: null,
  input_tokens_per_minute: null,
  output_tokens_per_minute: null,
  tokens_per_day: null,
  daily_budget_nano: null,
  monthly_budget_nano: null,
};
const key = (id: number, more: Partial<Key> = {}): Key => ({
  id,
  name: `key ${id}`,
  prefix: "sg-abcdefgh",
  models: [],
  features: [],
  state: "live",
  created_at: "2026-03-01T12:00:00Z",
  expires_at: null,
  revoked_at: null,
  last_used_at: null,
  limits: NO_LIMITS,
  ...more,
});

function answer(address: string, { method, body }: RequestInit): Promise<Response> {
  if (method !== "GET") sent.push({ call: `${method} ${address}`, body: body && JSON.parse(body as string) });
  if (refusal && method !== "GET")
    return Promise.resolve(
      new Response(JSON.stringify({ error: { code: "too_many", message: refusal } }), { status: 409 }),
    );
  if (method === "POST") {
    listed = [key(9, { name: "laptop" }), ...listed];
    return Promise.resolve(new Response(JSON.stringify({ key: listed[0], secret: SECRET }), { status: 201 }));
  }
  if (method === "DELETE") {
    listed = listed.map((each) => (address.endsWith(`/${each.id}`) ? { ...each, state: "revoked" } : each));
    return Promise.resolve(new Response(null, { status: 204 }));
  }
  return Promise.resolve(new Response(JSON.stringify({ keys: listed, most_live: mostLive })));
}

beforeEach(() => {
  HTMLDialogElement.prototype.showModal = function () {
    this.open = true;
  };
  HTMLDialogElement.prototype.close = function () {
    this.open = false;
  };
});

afterEach(async () => {
  await unmount(page);
  [listed, mostLive, refusal, sent] = [[], 100, "", []];
  vi.unstubAllGlobals();
});

async function show(): Promise<void> {
  vi.stubGlobal("fetch", answer);
  page = mount(OwnKeys, { target: document.body, props: { models: [], embeddingModel: "all-minilm-l6-v2" } });
  await vi.waitFor(() => expect(button("New key")).toBeDefined());
}

const button = (name: string) =>
  [...document.querySelectorAll<HTMLButtonElement>("button")].find(
    (each) => (each.getAttribute("aria-label") ?? each.textContent.trim()) === name,
  );

async function fill(name: string): Promise<void> {
  button("New key")!.click();
  await vi.waitFor(() => expect(document.querySelector("dialog")).not.toBeNull());
  const field = document.querySelector<HTMLInputElement>("dialog input")!;
  field.value = name;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  flushSync();
}

const submit = () =>
  document.querySelector("form")!.dispatchEvent(new SubmitEvent("submit", { cancelable: true }));

it("shows a new key once, and lists it without its secret", async () => {
  await show();
  await fill("laptop");
  document.querySelector<HTMLInputElement>("input[value=chat]")!.click();
  submit();
  const secret = () => document.querySelector<HTMLInputElement>('[aria-label="The key"]');
  await vi.waitFor(() => expect(secret()?.value).toBe(SECRET));
  expect(sent[0]).toMatchObject({
    call: "POST /api/keys",
    body: { name: "laptop", features: ["chat"], models: [], limits: NO_LIMITS },
  });
  await vi.waitFor(() => expect(document.querySelector("li")?.textContent).toContain("laptop"));
  button("Done")!.click();
  await vi.waitFor(() => expect(document.querySelector("dialog")).toBeNull());
  expect(document.body.innerHTML).not.toContain(SECRET);
});

it("revokes a key after the confirmation", async () => {
  listed = [key(1), key(2)];
  await show();
  button("Revoke key 2")!.click();
  await vi.waitFor(() => expect(button("Revoke the key")).toBeDefined());
  expect(sent).toEqual([]);
  submit();
  await vi.waitFor(() => expect(document.body.textContent).toContain("key 2 is revoked."));
  expect(sent.map(({ call }) => call)).toEqual(["DELETE /api/keys/2"]);
  await vi.waitFor(() => expect(button("Revoke key 2")).toBeUndefined());
});

it("shows the server's refusal in the dialog", async () => {
  refusal = "The account has 100 keys that work, the limit.";
  await show();
  await fill("laptop");
  submit();
  await vi.waitFor(() => expect(document.querySelector("dialog [role=alert]")?.textContent).toBe(refusal));
});

it("offers no new key where the limit is reached", async () => {
  [listed, mostLive] = [[key(1)], 1];
  await show();
  expect(button("New key")!.disabled).toBe(true);
});
