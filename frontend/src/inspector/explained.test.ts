// @vitest-environment jsdom
/** Every name of a figure explains itself, in every panel, on every golden log. */
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import type { Frame } from "../protocol/events";
import { RequestTrace } from "../state/request/request-trace.svelte";
import { loadPanel, PANELS } from "./panels";

const LOGS = new URL("../../../tests/golden/logs/", `file://${import.meta.dirname}/`).pathname;
const NAMES = ["blocked", "finished", "lost", "remote", "second_turn", "stopped", "two_generations"];
/** Heads of columns whose entries explain themselves, and names of things that are not figures. */
const PLAIN = [
  "interval",
  "kind",
  "all others",
  "began after its arrival",
  "began after the key press",
  "duration",
  "amount",
  "now",
  "before",
  "",
];

let panel: object | null = null;
beforeEach(() => {
  const Watcher = class {
    observe() {}
    unobserve() {}
    disconnect() {}
  };
  vi.stubGlobal("ResizeObserver", Watcher);
  vi.stubGlobal("matchMedia", () => ({ matches: false, addEventListener() {}, removeEventListener() {} }));
});
afterEach(() => {
  vi.unstubAllGlobals();
  if (panel) void unmount(panel);
  panel = null;
});

/** Names of figures without an explanation; a token that heads a row is no name of a figure. */
function unexplained(): string[] {
  return [...document.querySelectorAll("dt, th")]
    .filter(
      (name) =>
        !name.querySelector(".term, .link") && !name.matches(".mono, .number") && !/^\d/.test(textOf(name)),
    )
    .map(textOf)
    .filter((name) => !PLAIN.includes(name));
}

const textOf = (element: Element) => element.textContent.replace(/\s+/g, " ").trim();

it.each(PANELS.map(({ name }) => name))(
  "%s has no figure whose name says nothing of it",
  async (name) => {
    const Shown = await loadPanel(name);
    for (const log of NAMES) {
      const { frames } = JSON.parse(readFileSync(`${LOGS}${log}.json`, "utf8")) as { frames: Frame[] };
      const trace = RequestTrace.saved(frames);
      const props = { trace, view: trace.view, onSelect: () => {}, onPanel: () => {}, onFollow: () => {} };
      panel = mount(Shown, { target: document.body, props });
      flushSync();
      expect([log, unexplained()]).toEqual([log, []]);
      await unmount(panel);
      panel = null;
    }
  },
  30_000,
);
