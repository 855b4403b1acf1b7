// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it } from "vitest";
import { sideways } from "./sideways";

let element: HTMLElement;
let leave: () => void;

beforeEach(() => {
  element = document.createElement("div");
  leave = sideways(element);
});
afterEach(() => leave());

/** True when the browser may take the touch at these places for a scroll of its own. */
function mayScroll(type: string, ...places: [number, number][]): boolean {
  const event = new Event(type, { cancelable: true });
  Object.defineProperty(event, "touches", {
    value: places.map(([clientX, clientY]) => ({ clientX, clientY })),
  });
  return element.dispatchEvent(event);
}

it("keeps a drag across for itself, also where it bends, and leaves one down the page to the page", () => {
  mayScroll("touchstart", [100, 100]);
  expect(mayScroll("touchmove", [90, 103])).toBe(false);
  expect(mayScroll("touchmove", [88, 160])).toBe(false);
  mayScroll("touchstart", [100, 100]);
  expect(mayScroll("touchmove", [97, 110])).toBe(true);
  expect(mayScroll("touchmove", [20, 112])).toBe(true);
});

it("keeps what two fingers do, and nothing once it is taken off", () => {
  mayScroll("touchstart", [100, 100], [140, 100]);
  expect(mayScroll("touchmove", [100, 120], [140, 80])).toBe(false);
  leave();
  mayScroll("touchstart", [100, 100]);
  expect(mayScroll("touchmove", [20, 100])).toBe(true);
});
