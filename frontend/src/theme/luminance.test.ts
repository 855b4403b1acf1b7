import { expect, it } from "vitest";
import { BLACK, contrast, luminance, textOn, WHITE } from "./luminance";

it("is WCAG's: black and white are 21 to 1", () => {
  expect(contrast([0, 0, 0], [255, 255, 255])).toBeCloseTo(21);
  expect(luminance([255, 0, 0])).toBeCloseTo(0.2126);
});

it("chooses the text that is read more easily, and never worse than 4.3 to 1", () => {
  for (let red = 0; red < 256; red += 15)
    for (let green = 0; green < 256; green += 15)
      for (let blue = 0; blue < 256; blue += 51) {
        const color = [red, green, blue];
        const best = textOn(color) === `rgb(${WHITE.join(" ")})` ? WHITE : BLACK;
        expect(contrast(color, best)).toBeGreaterThanOrEqual(4.3);
        expect(contrast(color, best)).toBe(Math.max(contrast(color, BLACK), contrast(color, WHITE)));
      }
});
