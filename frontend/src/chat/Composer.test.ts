// @vitest-environment jsdom
import { afterEach, expect, it, vi } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import * as tokenizer from "../tokenizer/browser-tokenizer";
import { Files } from "../state/conversation/files.svelte";
import Composer from "./Composer.svelte";

// jsdom has no layout and no media.
vi.stubGlobal("matchMedia", () => ({ matches: true }));

let composer: object;
afterEach(() => unmount(composer));

function show(more: object = {}) {
  const onSend = vi.fn(() => Promise.resolve());
  const props = {
    tokenizerUrl: "",
    uncounted: "",
    basis: "",
    policy: "drop" as const,
    files: new Files(),
    onAttach: vi.fn(),
    usedTokens: null,
    window: null,
    numWriting: 0,
    isWriting: false,
    isSending: false,
    numAnswers: 1,
    onPreview: vi.fn(),
    onSend,
    onStop: vi.fn(),
    onSettings: vi.fn(),
  };
  composer = mount(Composer, { target: document.body, props: { ...props, ...more } });
  flushSync();
  const area = document.querySelector("textarea")!;
  return { onSend, area };
}

function write(area: HTMLTextAreaElement, text: string) {
  area.value = text;
  area.dispatchEvent(new Event("input", { bubbles: true }));
  flushSync();
}

function press(area: HTMLElement, init: KeyboardEventInit): boolean {
  const event = new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true, ...init });
  area.dispatchEvent(event);
  flushSync();
  return event.defaultPrevented;
}

it("sends on Enter and empties itself", () => {
  const { onSend, area } = show();
  write(area, "Hello");
  press(area, {});
  expect(onSend).toHaveBeenCalledExactlyOnceWith("Hello", expect.any(Number));
  expect(area.value).toBe("");
});

it("leaves Shift+Enter and the Enter of an input method to the text field", () => {
  const { onSend, area } = show();
  write(area, "こんに");
  expect(press(area, { shiftKey: true })).toBe(false);
  expect(press(area, { isComposing: true })).toBe(false);
  expect(press(area, { keyCode: 229 })).toBe(false);
  expect(onSend).not.toHaveBeenCalled();
});

it("sends nothing that is empty", () => {
  const { onSend, area } = show();
  write(area, " \n\t ");
  press(area, {});
  expect(document.querySelector<HTMLButtonElement>("[type=submit]")!.disabled).toBe(true);
  expect(onSend).not.toHaveBeenCalled();
});

it("offers Stop instead of Send while an answer is written, and keeps the draft", () => {
  const onStop = vi.fn();
  const { onSend, area } = show({ numWriting: 1, isWriting: true, onStop });
  write(area, "Next question");
  press(area, {});
  expect(onSend).not.toHaveBeenCalled();
  expect(area.value).toBe("Next question");
  const buttons = [...document.querySelectorAll("button")];
  buttons.find((button) => button.textContent === "Stop")!.click();
  expect(onStop).toHaveBeenCalledOnce();
  expect(buttons.some((button) => button.type === "submit")).toBe(false);
});

it("says how many answers Stop ends", () => {
  show({ numWriting: 3, isWriting: true });
  expect([...document.querySelectorAll("button")].map((button) => button.textContent)).toContain(
    "Stop all 3",
  );
});

it("counts a new chat's system prompt with the words, and says that it is not all", async () => {
  vi.spyOn(tokenizer, "loadCounter").mockResolvedValue({
    encode: (words: string) => words.split(" "),
  } as never);
  const { area } = show({ uncounted: "Be brief and kind.", window: 8192 });
  write(area, "Hello you");
  area.dispatchEvent(new FocusEvent("focus"));
  const gauge = () => document.querySelector<HTMLElement>(".gauge")!;
  await vi.waitFor(() => expect(gauge().textContent).toContain("≥\u00a06 / 8,192"));
  expect(gauge().title).toContain("at least 6 of 8,192 tokens");
});

it("counts what a chat took already, as its last request tells", () => {
  show({ uncounted: "Be brief and kind.", usedTokens: 40, window: 8192 });
  expect(document.querySelector(".gauge .number")!.textContent).toBe("40 / 8,192");
});
