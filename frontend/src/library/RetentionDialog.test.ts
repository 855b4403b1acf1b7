// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import RetentionDialog from "./RetentionDialog.svelte";

const COUNTS = { num_traces: 3, num_due: 0, num_pinned: 1 };

let dialog: object;
/** Answers the first look, which asks for the rule in force. */
let answer: (keepDays: number | null) => void;

beforeEach(() => {
  // jsdom has no modal dialogs.
  HTMLDialogElement.prototype.showModal ??= () => {};
  vi.stubGlobal("fetch", (path: string) => {
    const reply = (days: number | null) => new Response(JSON.stringify({ keep_days: days, ...COUNTS }));
    if (path.includes("?")) return Promise.resolve(reply(null));
    return new Promise((resolve) => (answer = (keepDays) => resolve(reply(keepDays))));
  });
  dialog = mount(RetentionDialog, { target: document.body, props: { onSaved: vi.fn(), onClose: vi.fn() } });
  flushSync();
});
afterEach(() => {
  vi.unstubAllGlobals();
  return unmount(dialog);
});

const days = () => document.querySelector<HTMLInputElement>('[aria-label="Days"]')!;
const isForGood = () => document.querySelector<HTMLInputElement>('[type="radio"]')!.checked;

function enter(value: string) {
  days().focus();
  days().value = value;
  days().dispatchEvent(new Event("input", { bubbles: true }));
  flushSync();
}

it("shows the rule in force", async () => {
  answer(9);
  await vi.waitFor(() => expect([days().value, isForGood()]).toEqual(["9", false]));
});

it.each([null, 9])("keeps what the user entered before the rule in force came: %s", async (rule) => {
  enter("7");
  answer(rule);
  await new Promise((resolve) => setTimeout(resolve, 20));
  flushSync();
  expect([days().value, isForGood()]).toEqual(["7", false]);
});
