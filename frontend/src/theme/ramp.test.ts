import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { contrast, luminance } from "./luminance";
import { HUES } from "./stages";

const CSS = readFileSync(`${import.meta.dirname}/theme.css`, "utf8");
const THEMES = { light: CSS.split('[data-theme="dark"]')[0]!, dark: CSS.split('[data-theme="dark"]')[1]! };
const AA = 4.5;

/** sRGB, 0 to 255 each, as CSS Color 4 defines oklch; throws outside the gamut, where the browser would change it. */
function fromOklch(lightness: number, chroma: number, hue: number): number[] {
  const [a, b] = [Math.cos, Math.sin].map((part) => chroma * part((hue * Math.PI) / 180)) as [number, number];
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ].map((linear) => {
    if (linear < -0.001 || linear > 1.001) throw new Error("outside sRGB");
    return 255 * (linear <= 0.0031308 ? 12.92 * linear : 1.055 * linear ** (1 / 2.4) - 0.055);
  });
}

const hex = (color: string) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));

describe.each(["light", "dark"] as const)("the ramp of the %s theme", (theme) => {
  const steps = [...THEMES[theme].matchAll(/--step-\d: oklch\(([\d.]+) ([\d.]+) ([\d.]+)\)/g)].map((match) =>
    match.slice(1).map(Number),
  ) as [number, number, number][];
  const ink = hex(/--ink: (#\w{6})/.exec(THEMES[theme])![1]!);

  it("has six steps of one hue, far from every stage's", () => {
    expect(steps).toHaveLength(6);
    const hue = steps[0]![2];
    expect(steps.every((step) => step[2] === hue)).toBe(true);
    const distances = Object.values(HUES).map((each) => Math.abs(((each - hue + 540) % 360) - 180));
    expect(Math.min(...distances)).toBeGreaterThanOrEqual(30);
  });

  it("goes one way in lightness, so that no colour vision is needed to order it", () => {
    const lights = steps.map((step) => luminance(fromOklch(...step)));
    const order = [...lights].sort((x, y) => (theme === "light" ? y - x : x - y));
    expect(lights).toEqual(order);
    steps
      .slice(1)
      .forEach((step, index) => expect(Math.abs(step[0] - steps[index]![0])).toBeGreaterThanOrEqual(0.045));
  });

  it("lets text be read on each step", () => {
    for (const step of steps) expect(contrast(fromOklch(...step), ink)).toBeGreaterThanOrEqual(AA);
  });
});
