// @vitest-environment jsdom
import { flushSync, mount, unmount } from "svelte";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import CopyButton from "./CopyButton.svelte";

const written: string[] = [];
let isAllowed = true;
let mounted: object;
const props = $state({ text: "first", label: "Copy" });

beforeEach(() => {
  written.length = 0;
  isAllowed = true;
  props.text = "first";
  vi.useFakeTimers();
  const writeText = async (text: string) => {
    if (!isAllowed) throw new DOMException("refused", "NotAllowedError");
    written.push(text);
  };
  vi.stubGlobal("navigator", { clipboard: { writeText } });
  mounted = mount(CopyButton, { target: document.body, props });
});

afterEach(async () => {
  await unmount(mounted);
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const button = () => document.querySelector("button")!;

async function press() {
  button().click();
  await vi.advanceTimersByTimeAsync(0);
  flushSync();
}

it("copies the text and says so for a moment", async () => {
  await press();
  expect(written).toEqual(["first"]);
  expect(button().textContent).toBe("Copied");
  await vi.advanceTimersByTimeAsync(2000);
  flushSync();
  expect(button().textContent).toBe("Copy");
});

it("does not say of a changed text that it was copied", async () => {
  await press();
  props.text = "second";
  flushSync();
  expect(button().textContent).toBe("Copy");
});

it("says that the browser refused", async () => {
  isAllowed = false;
  await press();
  expect(button().textContent).toBe("Not copied");
  expect(button().title).toContain("Select the text");
});
