// @vitest-environment jsdom
import { afterEach, expect, it, vi } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import { Library } from "../state/traces/library.svelte";
import TraceTable from "./TraceTable.svelte";

let table: object;
afterEach(() => {
  vi.unstubAllGlobals();
  return unmount(table);
});

it("stands where the address asks for an order that there is not, and sorts as soon as one is chosen", () => {
  // The server's answer is not waited for.
  vi.stubGlobal("fetch", () => new Promise(() => {}));
  const library = new Library();
  const onFilter = vi.fn();
  const props = { library, shown: [], onRemove() {}, onMark() {}, onShare() {}, onFilter, canSend: false };
  table = mount(TraceTable, { target: document.body, props });
  const turns = () => document.querySelectorAll(".sort button").length;
  void library.load("sort=-cost_nano");
  flushSync();
  expect(turns()).toBe(1);
  void library.load("sort=foo");
  flushSync();
  expect(turns()).toBe(0);
  expect(document.querySelector("[aria-sort]")).toBeNull();
  document.querySelector<HTMLElement>("th.number button")!.click();
  expect(onFilter).toHaveBeenCalledWith("sort=-num_input_tokens");
});
