// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import type { LiveNow, Session } from "../../protocol/api";
import { FakeSocket } from "../../transport/fake-socket";
import { NUM_PARTS } from "./course";
import { NOW_MS, nowOf, pointOf, workerOf } from "./fixtures";
import LivePage from "./LivePage.svelte";
import WallPage from "./WallPage.svelte";

const request = {
  id: "req_1",
  user: "alice",
  surface: "chat",
  state: "decode" as const,
  num_prompt_tokens: 40,
  num_computed_tokens: 47,
  num_output_tokens: 7,
  age_ms: 3000,
};
const busy = nowOf({ workers: [workerOf({ requests: [request] })] });
let page: object;
let stopped: string[] = [];
let stopStatus = 202;
let mayStop = true;

beforeEach(() => {
  vi.stubGlobal(
    "ResizeObserver",
    class {
      observe() {}
      unobserve() {}
      disconnect() {}
    },
  );
  vi.stubGlobal("WebSocket", FakeSocket);
  vi.stubGlobal("fetch", (address: string) => {
    if (address.endsWith("/stop")) {
      stopped.push(address);
      const body =
        stopStatus === 202 ? { status: "stopping" } : { error: { code: "ended", message: "It has ended." } };
      return Promise.resolve(new Response(JSON.stringify(body), { status: stopStatus }));
    }
    const histories = [{ name: "host:1", points: [pointOf({ at_ms: NOW_MS - 1000 })] }];
    return Promise.resolve(new Response(JSON.stringify({ now: busy, histories })));
  });
  [stopped, stopStatus, mayStop] = [[], 202, true];
});
afterEach(async () => {
  await unmount(page);
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

const text = () => document.body.textContent.replaceAll(/\s+/g, " ");
const button = () => document.querySelector<HTMLButtonElement>(".stop button")!;

async function show(): Promise<void> {
  const permissions = mayStop ? ["lifecycle.change_request"] : [];
  const session = { user: { permissions } } as unknown as Session;
  page = mount(LivePage, { target: document.body, props: { session } });
  await vi.waitFor(() => expect(document.querySelector('[aria-busy="false"]')).not.toBeNull());
}

function tell(now: LiveNow): void {
  FakeSocket.last.tell(now);
  flushSync();
}

it("shows figures and requests of each worker", async () => {
  await show();
  expect(text()).toContain("alice req_1");
  expect(text()).toContain("answer is written");
  expect(document.querySelector('[aria-label="Figures of host:1"]')!.children).toHaveLength(9);
  tell(nowOf({ workers: [workerOf({ point: pointOf({ at_ms: NOW_MS + 1000, decode_per_s: 77 }) })] }));
  expect(text()).toContain("Answer tokens a second 77");
  expect(text()).toContain("No request runs now.");
});

it("shows what runs now before all charts", async () => {
  await show();
  const requests = document.querySelector('[aria-label="Requests of host:1"]')!;
  const charts = document.querySelector('[aria-label="All workers together"]')!;
  expect(requests.compareDocumentPosition(charts)).toBe(Node.DOCUMENT_POSITION_FOLLOWING);
});

it("names the moments of its charts anew only when a part of the axis begins", async () => {
  await show();
  const numbers = [...Array(12).keys()];
  const workers = numbers.map((each) =>
    workerOf({ name: `host:${each}`, state: each ? "stopped" : "ready" }),
  );
  const at = (second: number) => nowOf({ at_ms: NOW_MS + second * 1000, workers });
  tell(at(1));
  const form = Intl.DateTimeFormat.prototype as { format: unknown };
  const use = vi.spyOn(form, "format", "get");
  const make = vi.spyOn(Intl, "DateTimeFormat");
  for (let second = 2; second < 12; second += 1) tell(at(second));
  expect(make).not.toHaveBeenCalled();
  expect(use.mock.calls.length).toBeLessThanOrEqual(10 * (1 + workers.length));
  tell(at(15));
  expect(make).not.toHaveBeenCalled();
  expect(use.mock.calls.length).toBeLessThanOrEqual(11 * (1 + workers.length) + 2 * NUM_PARTS);
});

it("stops a request at the second press only", async () => {
  await show();
  button().click();
  flushSync();
  expect([stopped, text()]).toEqual([[], expect.stringContaining("Stop alice’s request?")]);
  button().dispatchEvent(new FocusEvent("blur"));
  flushSync();
  expect(button().textContent.trim()).toBe("Stop");
  button().click();
  button().click();
  await vi.waitFor(() => expect(stopped).toEqual(["/api/live/requests/req_1/stop"]));
  await vi.waitFor(() => expect(button().textContent.trim()).toBe("Stopping …"));
});

it("says why a request was not stopped", async () => {
  stopStatus = 409;
  await show();
  button().click();
  button().click();
  await vi.waitFor(() => expect(document.querySelector('[role="alert"]')?.textContent).toBe("It has ended."));
  expect(button().textContent.trim()).toBe("Stop");
});

it("has no button for an operator who may only look", async () => {
  mayStop = false;
  await show();
  expect(button()).toBeNull();
});

it("tells of a lost Redis and of a lost worker", async () => {
  await show();
  tell(nowOf({ workers: [workerOf({ state: "lost", point: null, last_ms: NOW_MS - 60_000 })] }));
  expect(text()).toContain("It has fallen silent, and what it does is not known.");
  tell({ at_ms: NOW_MS, problem: "Redis cannot be reached.", site: null, workers: [] });
  expect(document.querySelector('[role="alert"]')?.textContent).toContain("Redis cannot be reached.");
  expect(text()).toContain("The figures are of");
});

it("keeps the wall's screen awake, and lets it sleep once the wall is left", async () => {
  const release = vi.fn(() => Promise.resolve());
  const ask = vi.fn(() => Promise.resolve({ release }));
  vi.stubGlobal("navigator", { ...navigator, wakeLock: { request: ask } });
  page = mount(WallPage, { target: document.body, props: { onLeave: () => {} } });
  await vi.waitFor(() => expect(text()).toContain("host:1"));
  expect(ask).toHaveBeenCalledWith("screen");
  document.dispatchEvent(new Event("visibilitychange"));
  expect(ask).toHaveBeenCalledTimes(2);
  await unmount(page);
  await vi.waitFor(() => expect(release).toHaveBeenCalled());
  document.dispatchEvent(new Event("visibilitychange"));
  expect(ask).toHaveBeenCalledTimes(2);
  page = mount(WallPage, { target: document.body, props: { onLeave: () => {} } });
});
