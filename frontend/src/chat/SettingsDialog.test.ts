import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import { PARAMS } from "../trace/fixtures";
import type { SettingsDraft } from "./settings";
import SettingsDialog from "./SettingsDialog.svelte";

let dialog: object;
const given = { systemPrompt: "", defaults: PARAMS, onClose: vi.fn() };
let params = PARAMS;
let n = 1;
let draft: SettingsDraft | null = null;

function open(setting: string | null = null) {
  const props = {
    ...given,
    setting,
    get draft() {
      return draft;
    },
    set draft(value) {
      draft = value;
    },
    get n() {
      return n;
    },
    set n(value) {
      n = value;
    },
    get params() {
      return params;
    },
    set params(value) {
      params = value;
    },
  };
  dialog = mount(SettingsDialog, { target: document.body, props });
  flushSync();
}

beforeEach(() => {
  // jsdom has no modal dialogs.
  HTMLDialogElement.prototype.showModal ??= () => {};
  params = PARAMS;
  n = 1;
  draft = null;
  open();
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

function close(ending = "") {
  const element = document.querySelector("dialog")!;
  element.returnValue = ending;
  element.dispatchEvent(new Event("close"));
  flushSync();
}

it("asks for a schema only when one is wanted, and says at once when it is not JSON", () => {
  enter("Form of the answer", "json_schema");
  enter("JSON Schema", '{"type": ');
  expect(field<HTMLTextAreaElement>("JSON Schema").validationMessage).toContain("not JSON yet");
  enter("JSON Schema", '{"type": "object"}');
  expect(field<HTMLTextAreaElement>("JSON Schema").validity.valid).toBe(true);
  close("done");
  expect(params).toMatchObject({ json_schema: '{"type": "object"}', regex: null });
});

it("forgets the schema when the answer is free again", () => {
  enter("Form of the answer", "regex");
  enter("Regular expression", "yes|no");
  enter("Form of the answer", "free");
  enter("Typical-p", "0.9");
  close("done");
  expect(params).toMatchObject({ json_schema: null, regex: null, typical_p: 0.9 });
});

it("keeps what was entered when it is closed before it is valid, and says what is wrong", () => {
  enter("Form of the answer", "json_schema");
  enter("JSON Schema", '{"type": ');
  enter("System prompt", "In rhyme.");
  enter("Answers", "3");
  close();
  expect(params).toBe(PARAMS);
  expect(given.onClose).toHaveBeenLastCalledWith(false);
  expect(draft).toMatchObject({ setting: "json_schema", schema: '{"type": ' });
  expect(draft!.problem).toContain("JSON Schema: This is not JSON yet");

  void unmount(dialog);
  open("json_schema");
  expect(field<HTMLTextAreaElement>("JSON Schema").value).toBe('{"type": ');
  expect(field<HTMLTextAreaElement>("System prompt").value).toBe("In rhyme.");
  expect(document.activeElement).toBe(field("JSON Schema"));
  enter("JSON Schema", "{}");
  close("done");
  expect([params.json_schema, n]).toEqual(["{}", 3]);
  expect(draft).toBeNull();
});

it("keeps nothing where nothing was changed, or where it was cancelled", () => {
  close();
  expect(draft).toBeNull();
  enter("Top-p", "0.5");
  close("cancel");
  expect([draft, params]).toEqual([null, PARAMS]);
});
