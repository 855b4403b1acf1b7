// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { keepFold, keepHeight, keptFold, keptHeight } from "./fold";

beforeEach(() => localStorage.clear());
afterEach(() => vi.restoreAllMocks());

it("is folded until it is unfolded, and stays as it was left", () => {
  expect(keptFold()).toBe(true);
  keepFold(false);
  expect(keptFold()).toBe(false);
  keepFold(true);
  expect(keptFold()).toBe(true);
});

it("keeps its height", () => {
  const first = keptHeight();
  keepHeight(first + 100);
  expect(keptHeight()).toBe(first + 100);
});

it("begins anew where nothing may be kept", () => {
  const denied = () => {
    throw new DOMException("The document is sandboxed.", "SecurityError");
  };
  vi.spyOn(window, "localStorage", "get").mockImplementation(denied);
  keepFold(false);
  expect(keptFold()).toBe(true);
});
