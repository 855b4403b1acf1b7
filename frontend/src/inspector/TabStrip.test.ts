import { afterEach, expect, it } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import { ACCEPTED, foldAll, token } from "../trace/fixtures";
import { emptyView } from "../trace/view";
import { panelsFor, partsOf } from "./panels";
import TabStrip from "./TabStrip.svelte";

let strip: object | null = null;
afterEach(() => {
  if (strip) void unmount(strip);
  strip = null;
});

function shown(whole = emptyView(), name: "Tokens" | "Timing" = "Tokens") {
  strip = mount(TabStrip, {
    target: document.body,
    props: { panels: panelsFor(true), shown: name, whole },
  });
  flushSync();
  return [...document.querySelectorAll<HTMLElement>('[role="tab"]')];
}

const press = (key: string) => {
  document.activeElement!.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  flushSync();
};

it("keeps every panel, in order, when it parts them", () => {
  const panels = panelsFor(true);
  const parts = partsOf(panels);
  expect(parts.flat()).toEqual(panels);
  for (const part of parts) expect(new Set(part.map((each) => each.part)).size).toBe(1);
  expect(new Set(parts.map((part) => part[0]!.part)).size).toBe(parts.length);
});

it("is walked round by the arrow keys, and Home and End lead to its ends", () => {
  const tabs = shown();
  tabs.find((tab) => tab.dataset.panel === "Tokens")!.focus();
  const names = tabs.map((tab) => tab.textContent);
  const open = () => document.querySelector('[aria-selected="true"]')!.textContent;
  press("End");
  expect(open()).toBe(names.at(-1));
  press("ArrowRight");
  expect(open()).toBe(names[0]);
  expect(document.activeElement!.textContent).toBe(names[0]);
  press("ArrowLeft");
  expect(open()).toBe(names.at(-1));
  press("Home");
  expect(open()).toBe(names[0]);
  expect(tabs.filter((tab) => tab.tabIndex === 0)).toHaveLength(1);
});

it("has quiet tabs, which can be opened, for what the request has not", () => {
  const quiet = (tabs: HTMLElement[]) => tabs.filter((tab) => tab.title !== "").map((tab) => tab.textContent);
  const tabs = shown();
  expect(quiet(tabs)).toContain("Sampling");
  tabs.find((tab) => tab.textContent === "Sampling")!.click();
  flushSync();
  expect(document.querySelector('[aria-selected="true"]')!.textContent).toBe("Sampling");
  void unmount(strip!);
  expect(quiet(shown(foldAll([ACCEPTED, token(0, 100_000)])))).not.toContain("Sampling");
});
