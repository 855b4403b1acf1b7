/** The theme's colours as a canvas needs them: plain values, and for each stage the text that is readable on it. */
import { textOn } from "./luminance";
import { STAGES, type StageId } from "../trace/stages";
import { stageColor } from "./stages";

/** A canvas that is drawn in these colours. */
export type Context = CanvasRenderingContext2D;

export interface Palette {
  stage: Record<StageId, string>;
  onStage: Record<StageId, string>;
  ink: string;
  soft: string;
  faint: string;
  line: string;
  wash: string;
  paper: string;
  accent: string;
  accentInk: string;
  sans: string;
  mono: string;
}

export function readPalette(element: Element): Palette {
  const style = getComputedStyle(element);
  const value = (name: string) => style.getPropertyValue(name).trim();
  const pixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const stages = STAGES.map(({ id }) => {
    const color = stageColor(id).replaceAll(/var\((--[\w-]+)\)/g, (_, name: string) => value(name));
    return { id, color, text: pixel ? textOn(rendered(pixel, color)) : value("--ink") };
  });
  return {
    stage: Object.fromEntries(stages.map(({ id, color }) => [id, color])) as Palette["stage"],
    onStage: Object.fromEntries(stages.map(({ id, text }) => [id, text])) as Palette["onStage"],
    ink: value("--ink"),
    soft: value("--soft"),
    faint: value("--faint"),
    line: value("--line"),
    wash: value("--wash"),
    paper: backgroundOf(element) ?? value("--paper"),
    accent: value("--accent"),
    accentInk: value("--accent-ink"),
    sans: value("--sans"),
    mono: value("--mono"),
  };
}

/** The ground that is really behind an element: a panel's ground is not the page's. */
function backgroundOf(element: Element): string | null {
  for (let at: Element | null = element; at; at = at.parentElement) {
    const { backgroundColor } = getComputedStyle(at);
    if (!["", "transparent", "rgba(0, 0, 0, 0)"].includes(backgroundColor)) return backgroundColor;
  }
  return null;
}

function rendered(pixel: CanvasRenderingContext2D, color: string): number[] {
  pixel.fillStyle = color;
  pixel.fillRect(0, 0, 1, 1);
  return [...pixel.getImageData(0, 0, 1, 1).data.slice(0, 3)];
}

/** Calls back when the page's theme changes; returns how to stop. */
export function onThemeChange(changed: () => void): () => void {
  const observer = new MutationObserver(changed);
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  return () => observer.disconnect();
}
