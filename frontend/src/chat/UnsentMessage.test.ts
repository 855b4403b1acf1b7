// @vitest-environment jsdom
import { afterEach, expect, it, vi } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import { UNREACHABLE } from "../transport/api";
import type { Refusal } from "../state/conversation/settings";
import UnsentMessage from "./UnsentMessage.svelte";

const onSettings = vi.fn();
const onRetry = vi.fn();
const onDiscard = vi.fn();
let row: object | null = null;
afterEach(() => {
  if (row) void unmount(row);
  vi.resetAllMocks();
});

function show(refusal: Refusal | null, more: object = {}): void {
  const message = { id: "u", text: "Hello", editedId: null, refusal, posted: null };
  const props = { message, original: null, told: "", isBlocked: false, onRetry, onDiscard, onSettings };
  row = mount(UnsentMessage, { target: document.body, props: { ...props, ...more } });
  flushSync();
}

const alert = () => document.querySelector('[role="alert"]')?.textContent.trim();
const button = (name: string) =>
  [...document.querySelectorAll("button")].find((each) => each.textContent.trim() === name)!;
const REFUSED = { message: UNREACHABLE, setting: null };

it("leads to the setting that has to be changed", () => {
  const refusal = { message: "Top-p must be at most 1.", setting: "top_p" };
  show(refusal);
  expect(alert()).toBe("Not sent: Top-p must be at most 1.");
  button("Open settings").click();
  expect(onSettings).toHaveBeenCalledWith(refusal);
});

it("says why it was not sent unless the banner does", () => {
  show(REFUSED);
  expect(alert()).toBe(`Not sent: ${UNREACHABLE}`);
  void unmount(row!);
  show(REFUSED, { told: UNREACHABLE });
  expect(alert()).toBe("Not sent.");
});

it("is tried again, changed first, or discarded", () => {
  show(REFUSED, { original: "Hallo" });
  expect(document.querySelector("article")!.textContent).toContain("Another version of “Hallo”");
  button("Try again").click();
  expect(onRetry).toHaveBeenLastCalledWith("Hello", expect.any(Number));
  button("Edit").click();
  flushSync();
  const area = document.querySelector("textarea")!;
  area.value = "Hello there";
  area.dispatchEvent(new Event("input"));
  area.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  expect(onRetry).toHaveBeenLastCalledWith("Hello there", expect.any(Number));
  flushSync();
  button("Discard").click();
  expect(onDiscard).toHaveBeenCalledOnce();
});

it("waits with another try for the answer after which it would stand", () => {
  show(REFUSED, { isBlocked: true });
  expect(button("Try again").disabled).toBe(true);
  button("Edit").click();
  flushSync();
  expect(button("Send").disabled).toBe(true);
  const said = document.getElementById(button("Send").getAttribute("aria-describedby")!);
  expect(said?.textContent).toBe("When the answer above is complete");
  const enter = new KeyboardEvent("keydown", { key: "Enter", bubbles: true });
  document.querySelector("textarea")!.dispatchEvent(enter);
  expect(onRetry).not.toHaveBeenCalled();
});

it("offers nothing while it is on its way", () => {
  show(null);
  expect(document.querySelector("article")!.getAttribute("aria-label")).toBe("You, being sent");
  expect(document.querySelectorAll("button")).toHaveLength(0);
  expect(alert()).toBeUndefined();
});
