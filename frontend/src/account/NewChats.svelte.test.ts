// @vitest-environment jsdom
import { afterEach, expect, it, vi } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import NewChats from "./NewChats.svelte";

const tool = (name: string, more = {}) => ({
  name,
  label: `The ${name}`,
  description: `It is the ${name}.`,
  needs_approval: false,
  unavailable: "",
  ...more,
});
const OFFERED = [tool("calculator"), tool("python", { unavailable: "the kernel has no namespaces" })];
let set: object[] = [];
let refusal = "";
/** Only the first change is refused. */
let isFirstRefused = false;
let holds = { tools: [] as string[], memory: true, speculation: true };
let page: object;

function answer(address: string, { method, body }: RequestInit): Promise<Response> {
  if (method !== "PUT") {
    const found = address.endsWith("/tools") ? { tools: OFFERED } : holds;
    return Promise.resolve(new Response(JSON.stringify(found)));
  }
  set.push(JSON.parse(String(body)) as object);
  if (isFirstRefused && set.length > 1) refusal = "";
  if (!refusal) holds = JSON.parse(String(body)) as typeof holds;
  const error = JSON.stringify({ error: { code: "internal", message: refusal } });
  return Promise.resolve(
    refusal ? new Response(error, { status: 500 }) : new Response(String(body), { status: 200 }),
  );
}

async function show(): Promise<void> {
  vi.stubGlobal("fetch", answer);
  page = mount(NewChats, { target: document.body });
  await vi.waitFor(() => expect(document.querySelector("input")).not.toBeNull());
}

afterEach(async () => {
  await unmount(page);
  vi.unstubAllGlobals();
  set = [];
  refusal = "";
  isFirstRefused = false;
  holds = { tools: [], memory: true, speculation: true };
});

function press(words: string): HTMLInputElement {
  const label = [...document.querySelectorAll("label")].find(({ textContent }) =>
    textContent.includes(words),
  );
  const box = label!.querySelector("input")!;
  box.click();
  flushSync();
  return box;
}

it("saves each choice, with all others as they stand", async () => {
  await show();
  press("The calculator");
  press("Guess tokens ahead");
  await vi.waitFor(() => expect(set).toHaveLength(2));
  expect(set).toEqual([
    { tools: ["calculator"], memory: true, speculation: true },
    { tools: ["calculator"], memory: true, speculation: false },
  ]);
  await vi.waitFor(() => expect(document.body.textContent).toContain("Saved."));
});

it("offers no tool that cannot run here, and says why", async () => {
  await show();
  expect(press("The python").disabled).toBe(true);
  expect(document.body.textContent).toContain("Not available: the kernel has no namespaces.");
  expect(set).toEqual([]);
});

it("says what went wrong and shows what still holds", async () => {
  await show();
  refusal = "The database is locked.";
  const box = press("Memory");
  await vi.waitFor(() => expect(document.body.textContent).toContain("The database is locked."));
  await vi.waitFor(() => expect(box.checked).toBe(true));
});

it("shows what holds after a change that failed and one that did not", async () => {
  await show();
  [refusal, isFirstRefused] = ["Busy.", true];
  const memory = press("Memory");
  const guessing = press("Guess tokens ahead");
  await vi.waitFor(() => expect(document.body.textContent).toContain("Saved."));
  expect(set).toHaveLength(2);
  expect([memory.checked, guessing.checked]).toEqual([holds.memory, holds.speculation]);
});

it("lists a tool that is on and offered no longer, so that it can be turned off", async () => {
  holds.tools = ["files__gone"];
  await show();
  press("files__gone");
  await vi.waitFor(() => expect(set).toHaveLength(1));
  expect(set[0]).toMatchObject({ tools: [] });
});
