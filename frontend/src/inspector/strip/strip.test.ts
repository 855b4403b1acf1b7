// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import { RequestTrace } from "../../state/request/request-trace.svelte";
import { ACCEPTED, ended, RELEASED, token } from "../../trace/fixtures";
import SceneStrip from "./SceneStrip.svelte";
import Transport from "./Transport.svelte";

let parts: object[];
let trace: RequestTrace;

/** jsdom lays nothing out. */
class Watcher {
  observe() {}
  unobserve() {}
  disconnect() {}
}

beforeEach(() => {
  vi.stubGlobal("ResizeObserver", Watcher);
  vi.stubGlobal("matchMedia", () => ({ matches: true }));
  trace = new RequestTrace("req_a");
  [ACCEPTED, token(0, 100_000), token(1, 300_000), RELEASED, ...ended("stop")].forEach((event, index) =>
    trace.receive(event, index + 1),
  );
  trace.speed = 1;
  const target = document.body;
  parts = [
    mount(SceneStrip, { target, props: { trace, onScene: () => {} } }),
    mount(Transport, { target, props: { trace, isCollapsed: true, onCollapse: () => {} } }),
  ];
  flushSync();
});
afterEach(() => {
  trace.close();
  vi.unstubAllGlobals();
  return Promise.all(parts.map((part) => unmount(part)));
});

const slider = () => document.querySelector<HTMLInputElement>("[type=range]")!;
const place = () => document.querySelector('[data-testid="replay-position"]')!.textContent;
const button = (name: string) =>
  [...document.querySelectorAll("button")].find((each) => each.textContent.trim() === name);

function press(key: string): boolean {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
  slider().dispatchEvent(event);
  flushSync();
  return event.defaultPrevented;
}

describe("a request that rests on one of its tokens", () => {
  beforeEach(() => {
    trace.selected = 0;
    flushSync();
  });

  it("tells the place of that token", () => {
    expect(place()).toBe("1 / 2 · 100\u00a0ms");
    expect(slider().getAttribute("aria-valuetext")).toBe("Sampling, 100\u00a0ms, 1 token");
  });

  it("goes on from that token", () => {
    press("ArrowRight");
    expect(place()).toBe("2 / 2 · 300\u00a0ms");
    expect(trace.isLive).toBe(false);
  });

  it("goes back from that token", () => {
    press("ArrowLeft");
    expect(place()).toContain("0 / 2");
  });
});

it("rests on nothing where the token that is looked at was sampled elsewhere", () => {
  trace.selected = 7;
  flushSync();
  expect(trace.isSettled).toBe(false);
  expect(slider().value).toBe(slider().max);
});

it("stands at what follows the last token when the release is chosen", () => {
  trace.showScene("release", false);
  flushSync();
  expect(trace.scene).toBe("release");
  expect(slider().getAttribute("aria-valuetext")).toContain("Release");
  expect(trace.view.tokens.length).toBe(2);
});

it("is played to its end where nothing is looked at", () => {
  trace.follow();
  flushSync();
  expect(slider().value).toBe(slider().max);
});

describe("the strip's slider", () => {
  it("walks from token to token with the arrow keys", () => {
    expect(place()).toBe("2 / 2 · 340\u00a0ms");
    press("ArrowLeft");
    expect(place()).toBe("1 / 2 · 100\u00a0ms");
    press("ArrowLeft");
    expect(place()).toContain("0 / 2");
    press("ArrowRight");
    expect(place()).toBe("1 / 2 · 100\u00a0ms");
    expect(slider().getAttribute("aria-valuetext")).toBe("Sampling, 100\u00a0ms, 1 token");
  });

  it("plays and pauses with the space bar and leaves other keys to the browser", () => {
    press(" ");
    expect(trace.isPlaying).toBe(true);
    press(" ");
    expect(trace.isPlaying).toBe(false);
    expect(press("Home")).toBe(false);
  });

  it("goes to the moment it is set to, and back to the end", () => {
    slider().value = "2";
    slider().dispatchEvent(new Event("input", { bubbles: true }));
    flushSync();
    expect(place()).toBe("1 / 2 · 100\u00a0ms");
    button("Skip to live")!.click();
    flushSync();
    expect(place()).toContain("2 / 2");
    expect(button("Skip to live")).toBeUndefined();
  });
});

it("names every scene, and leads only to those that were reached", () => {
  const scenes = [...document.querySelectorAll<HTMLButtonElement>("ol button")];
  expect(scenes.map((each) => each.querySelector("b")!.textContent)).toEqual([
    "Gateway",
    "Context",
    "Tokens",
    "Safety",
    "Queue",
    "Cache",
    "Prefill",
    "Sampling",
    "Release",
    "Bill",
  ]);
  expect(scenes.find((each) => each.textContent.startsWith("Cache"))!.disabled).toBe(true);
  scenes.find((each) => each.textContent.startsWith("Sampling"))!.click();
  flushSync();
  expect([trace.view.tokens.length, trace.view.releases.length]).toEqual([2, 0]);
});

it("says what the picture is of while it follows, and skips to its end", () => {
  trace.startFollowing();
  flushSync();
  expect(document.querySelector('[data-testid="behind"]')!.textContent).toContain("Slow motion of 340 ms");
  button("Skip to the end")!.click();
  flushSync();
  expect(document.querySelector('[data-testid="behind"]')).toBeNull();
  expect(trace.isFollowing).toBe(false);
});
