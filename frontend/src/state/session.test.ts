// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { askInSilence, SessionState } from "./session.svelte";

let hasWorker: boolean;
let numAsked: number;

beforeEach(() => {
  vi.useFakeTimers();
  hasWorker = true;
  numAsked = 0;
  vi.stubGlobal("fetch", () => {
    numAsked += 1;
    const workers = hasWorker ? [{ state: "ready" }] : [];
    return Promise.resolve(new Response(JSON.stringify({ models: [{ is_ready: hasWorker }], workers })));
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it("learns in an answer's silence that the worker went, and asks in one line until it is back", async () => {
  const status = new SessionState();
  await status.load();
  expect([status.notice, vi.getTimerCount()]).toEqual(["", 0]);
  let numEvents = 3;
  const stop = askInSilence(
    () => numEvents,
    () => void status.load(),
  );
  hasWorker = false;
  numEvents = 4;
  await vi.advanceTimersByTimeAsync(2000);
  expect(numAsked).toBe(1);
  await vi.advanceTimersByTimeAsync(2000);
  expect(status.notice).toContain("No inference worker");
  await vi.advanceTimersByTimeAsync(2000);
  expect(vi.getTimerCount()).toBe(2);
  hasWorker = true;
  await vi.advanceTimersByTimeAsync(1000);
  expect(status.notice).toBe("");
  stop();
  expect(vi.getTimerCount()).toBe(0);
});
