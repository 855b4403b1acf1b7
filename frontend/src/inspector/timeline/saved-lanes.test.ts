// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { saveIsCollapsed, saveHeight, savedIsCollapsed, savedHeight } from "./saved-lanes";

beforeEach(() => localStorage.clear());
afterEach(() => vi.restoreAllMocks());

it("is collapsed until it is expanded, and stays as it was left", () => {
  expect(savedIsCollapsed()).toBe(true);
  saveIsCollapsed(false);
  expect(savedIsCollapsed()).toBe(false);
  saveIsCollapsed(true);
  expect(savedIsCollapsed()).toBe(true);
});

it("saves its height", () => {
  const first = savedHeight();
  saveHeight(first + 100);
  expect(savedHeight()).toBe(first + 100);
});

it("begins anew where nothing may be saved", () => {
  const denied = () => {
    throw new DOMException("The document is sandboxed.", "SecurityError");
  };
  vi.spyOn(window, "localStorage", "get").mockImplementation(denied);
  saveIsCollapsed(false);
  expect(savedIsCollapsed()).toBe(true);
});
