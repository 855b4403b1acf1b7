import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { keepFold, keptFold } from "./fold";

beforeEach(() => localStorage.clear());
afterEach(() => vi.restoreAllMocks());

const withHeight = (height: number) => vi.spyOn(window, "innerHeight", "get").mockReturnValue(height);

it("is folded as it was left, whatever the window's height", () => {
  withHeight(2000);
  expect(keptFold()).toBe(false);
  keepFold(true);
  expect(keptFold()).toBe(true);
  withHeight(500);
  keepFold(false);
  expect(keptFold()).toBe(false);
});

it("goes by the window's height where nothing may be kept", () => {
  const denied = () => {
    throw new DOMException("The document is sandboxed.", "SecurityError");
  };
  vi.spyOn(window, "localStorage", "get").mockImplementation(denied);
  keepFold(true);
  withHeight(2000);
  expect(keptFold()).toBe(false);
  withHeight(500);
  expect(keptFold()).toBe(true);
});
