// @vitest-environment jsdom
import { afterEach, expect, it, vi } from "vitest";
import { inSight } from "./in-sight";

afterEach(() => vi.unstubAllGlobals());

it("tells when an element comes into sight, leaves it, and is gone", () => {
  let change: (entries: { isIntersecting: boolean }[]) => void = () => {};
  const disconnect = vi.fn();
  // jsdom lays nothing out.
  class Watcher {
    observe = vi.fn();
    disconnect = disconnect;
    constructor(callback: typeof change) {
      change = callback;
    }
  }
  vi.stubGlobal("IntersectionObserver", Watcher);
  const told: boolean[] = [];
  const leave = inSight((isInSight) => told.push(isInSight))(document.body) as () => void;
  change([{ isIntersecting: true }]);
  change([{ isIntersecting: true }, { isIntersecting: false }]);
  change([{ isIntersecting: true }]);
  leave();
  expect(told).toEqual([true, false, true, false]);
  expect(disconnect).toHaveBeenCalledOnce();
});
