// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import { PARAMS } from "../../trace/fixtures";
import type { SamplingParams } from "../../protocol/events";
import type { ForkPlace } from "../../transport/api";
import ForkDialog from "./ForkDialog.svelte";

let dialog: object;
let begun: ForkPlace[];

beforeEach(() => {
  // jsdom has no modal dialogs.
  HTMLDialogElement.prototype.showModal ??= () => {};
  HTMLDialogElement.prototype.close = () => {};
  begun = [];
});
afterEach(() => unmount(dialog));

function open(params: SamplingParams) {
  const onFork = (place: ForkPlace) => Promise.resolve((begun.push(place), null));
  const props = { position: 2, text: "Every night", params, onFork, onClose: vi.fn() };
  dialog = mount(ForkDialog, { target: document.body, props });
  flushSync();
}

const names = () => [...document.querySelectorAll("input")].map(({ name }) => name);

async function go() {
  document.querySelector<HTMLElement>("button.primary")!.click();
  await vi.waitFor(() => expect(begun).toHaveLength(1));
}

it("goes on under the settings of a model that does not think", async () => {
  open(PARAMS);
  expect(names()).not.toContain("thinking_tokens");
  await go();
  expect(begun).toEqual([{ position: 2 }]);
});

it("goes on without a limit of the thinking, where the answer had one", async () => {
  open({ ...PARAMS, thinking_tokens: 1024 });
  const field = document.querySelector<HTMLInputElement>("[name=thinking_tokens]")!;
  field.value = "";
  field.dispatchEvent(new Event("input", { bubbles: true }));
  flushSync();
  await go();
  expect(begun[0]!.params?.thinking_tokens ?? null).toBeNull();
});
