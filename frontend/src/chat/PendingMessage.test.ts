import { afterEach, expect, it, vi } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import { UNREACHABLE } from "../transport/api";
import PendingMessage from "./PendingMessage.svelte";
import type { Refusal } from "./settings";

const onSettings = vi.fn();
let row: object;
afterEach(() => unmount(row));

function show(refusal: Refusal, told = ""): string {
  const props = { text: "Hello", refusal, told, onRetry: () => {}, onEdit: () => {}, onSettings };
  row = mount(PendingMessage, { target: document.body, props });
  flushSync();
  return document.querySelector('[role="alert"]')!.textContent;
}

it("leads to the setting that has to be changed", () => {
  expect(show({ message: "Top-p must be at most 1.", setting: "top_p" })).toBe(
    "Not sent: Top-p must be at most 1.",
  );
  document.querySelector("button")!.click();
  expect(onSettings).toHaveBeenCalledWith("top_p");
});

it("says why it was not sent unless the banner does", () => {
  const refusal = { message: UNREACHABLE, setting: null };
  expect(show(refusal)).toBe(`Not sent: ${UNREACHABLE}`);
  void unmount(row);
  expect(show(refusal, UNREACHABLE)).toBe("Not sent.");
  expect(document.querySelector("button")!.textContent).toBe("Try again");
});
