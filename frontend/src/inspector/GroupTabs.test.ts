// @vitest-environment jsdom
import { afterEach, expect, it } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import { ACCEPTED, failed, foldAll, token } from "../trace/fixtures";
import { emptyView } from "../trace/view";
import GroupTabs from "./GroupTabs.svelte";
import { GROUPS, offered, panelsFor, type PanelName } from "./panels";

let strip: object | null = null;
afterEach(() => {
  if (strip) void unmount(strip);
  strip = null;
});

function shown(whole = emptyView(), name: PanelName = "Journey", hasServer = true) {
  const props = { panels: panelsFor(hasServer), shown: name, whole };
  strip = mount(GroupTabs, { target: document.body, props });
  flushSync();
}

const tabs = () => [...document.querySelectorAll<HTMLElement>('[role="tab"]')];
const names = () => tabs().map((tab) => tab.textContent);
const open = () => document.querySelector('[aria-selected="true"]')!.textContent;
const toGroup = (name: string) => {
  document.querySelector<HTMLElement>(`[data-group="${name}"]`)!.click();
  flushSync();
};
const press = (key: string) => {
  document.activeElement!.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  flushSync();
};

it("has every panel in one of the groups", () => {
  const whole = foldAll([ACCEPTED, token(0, 100_000)]);
  const all = panelsFor(true);
  for (const panel of all)
    expect(
      GROUPS.filter((group) => offered(all, group, whole, panel.name as PanelName).includes(panel)),
    ).toHaveLength(1);
});

it("is walked round by the arrow keys, and Home and End lead to its ends", () => {
  shown(foldAll([ACCEPTED, token(0, 100_000)]));
  toGroup("Record");
  tabs()[0]!.focus();
  const all = names();
  press("End");
  expect(open()).toBe(all.at(-1));
  press("ArrowRight");
  expect(open()).toBe(all[0]);
  expect(document.activeElement!.textContent).toBe(all[0]);
  press("ArrowLeft");
  expect(open()).toBe(all.at(-1));
  press("Home");
  expect(open()).toBe(all[0]);
  expect(tabs().filter((tab) => tab.tabIndex === 0)).toHaveLength(1);
});

it("offers of a group what the request has, and comes back to where the group was left", () => {
  shown(foldAll([ACCEPTED, token(0, 100_000)]));
  toGroup("Model");
  expect(names()).toEqual(["Sampling", "Layers"]);
  tabs()[1]!.click();
  flushSync();
  toGroup("Story");
  expect(open()).toBe("Journey");
  toGroup("Model");
  expect(open()).toBe("Layers");
});

it("keeps the panel that is shown although the request has nothing for it", () => {
  shown(emptyView(), "Tools");
  expect(names()).toContain("Tools");
});

it("opens no group that has nothing to show, as that of a request that never reached the model, without a server", () => {
  shown(foldAll([ACCEPTED, failed("safety", "blocked")]), "Journey", false);
  const model = document.querySelector<HTMLButtonElement>('[data-group="Model"]')!;
  expect(model.disabled).toBe(true);
  toGroup("Model");
  expect(open()).toBe("Journey");
  const others = [...document.querySelectorAll<HTMLButtonElement>("[data-group]")];
  expect(others.filter(({ disabled }) => disabled)).toEqual([model]);
});
