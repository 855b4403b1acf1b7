// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Notices } from "./notices.svelte";

let listed = [{ id: 1, text: "Maintenance", severity: "info" }];
let isDown = false;
let isSignedIn = true;
let numAsked = 0;

beforeEach(() => {
  vi.useFakeTimers();
  localStorage.clear();
  [listed, isDown] = [[{ id: 1, text: "Maintenance", severity: "info" }], false];
  [isSignedIn, numAsked] = [true, 0];
  vi.stubGlobal("fetch", () => {
    numAsked += 1;
    if (!isSignedIn) return Promise.resolve(new Response("{}", { status: 401 }));
    return isDown
      ? Promise.reject(new TypeError())
      : Promise.resolve(new Response(JSON.stringify({ notices: listed })));
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const ids = (notices: Notices) => notices.shown.map(({ id }) => id);

it("shows a notice that comes while the page is open, and drops one that is over", async () => {
  const notices = new Notices();
  notices.open();
  await vi.waitFor(() => expect(ids(notices)).toEqual([1]));
  listed = [{ id: 2, text: "Soon", severity: "urgent" }];
  await vi.advanceTimersByTimeAsync(30_000);
  expect(ids(notices)).toEqual([2]);
  isDown = true;
  await vi.advanceTimersByTimeAsync(30_000);
  expect(ids(notices)).toEqual([2]);
  notices.close();
});

it("keeps a dismissed notice away, also after a reload", async () => {
  const notices = new Notices();
  await notices.load();
  notices.dismiss(1);
  expect(ids(notices)).toEqual([]);
  const reloaded = new Notices();
  listed.push({ id: 2, text: "Other", severity: "info" });
  await reloaded.load();
  expect(ids(reloaded)).toEqual([2]);
});

it("asks nothing more after the sign-out, until the reader is back", async () => {
  const notices = new Notices();
  notices.open();
  isSignedIn = false;
  await vi.advanceTimersByTimeAsync(30_000);
  expect([numAsked, notices.isSignedOut]).toEqual([2, true]);
  await vi.advanceTimersByTimeAsync(300_000);
  expect(numAsked).toBe(2);
  isSignedIn = true;
  await notices.load();
  expect(notices.isSignedOut).toBe(false);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(numAsked).toBe(4);
  notices.close();
  expect(vi.getTimerCount()).toBe(0);
});

it("survives a storage that holds something else", async () => {
  localStorage.setItem("sightglass-dismissed-notices", "{not json");
  const notices = new Notices();
  await notices.load();
  expect(ids(notices)).toEqual([1]);
});
