import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import { PARAMS } from "../trace/fixtures";
import SettingsDialog from "./SettingsDialog.svelte";

let dialog: object;
const given = { params: PARAMS, systemPrompt: "", defaults: PARAMS, onClose: vi.fn() };
let params = PARAMS;

beforeEach(() => {
  // jsdom has no modal dialogs.
  HTMLDialogElement.prototype.showModal ??= () => {};
  params = PARAMS;
  const props = {
    ...given,
    get params() {
      return params;
    },
    set params(value) {
      params = value;
    },
  };
  dialog = mount(SettingsDialog, { target: document.body, props });
  flushSync();
});
afterEach(() => unmount(dialog));

const field = <T extends HTMLElement>(name: string) =>
  [...document.querySelectorAll("label")]
    .find((label) => label.textContent!.trim().startsWith(name))!
    .querySelector<T>("input, textarea, select")!;

function enter(name: string, value: string) {
  const control = field<HTMLInputElement>(name);
  control.value = value;
  control.dispatchEvent(new Event(control.tagName === "SELECT" ? "change" : "input", { bubbles: true }));
  flushSync();
}

function done() {
  const element = document.querySelector("dialog")!;
  element.returnValue = "done";
  element.dispatchEvent(new Event("close"));
  flushSync();
}

it("asks for a schema only when one is wanted, and says at once when it is not JSON", () => {
  enter("Form of the answer", "json_schema");
  enter("JSON Schema", '{"type": ');
  expect(field<HTMLTextAreaElement>("JSON Schema").validationMessage).toContain("not JSON yet");
  enter("JSON Schema", '{"type": "object"}');
  expect(field<HTMLTextAreaElement>("JSON Schema").validity.valid).toBe(true);
  done();
  expect(params).toMatchObject({ json_schema: '{"type": "object"}', regex: null });
});

it("forgets the schema when the answer is free again", () => {
  enter("Form of the answer", "regex");
  enter("Regular expression", "yes|no");
  enter("Form of the answer", "free");
  enter("Typical-p", "0.9");
  done();
  expect(params).toMatchObject({ json_schema: null, regex: null, typical_p: 0.9 });
});
