/** A slip on a canvas: torn paper with its own colours, whatever the page's theme is. */
import type { Ink } from "../../layout/journey/shapes";
import { loadFonts, paint } from "../../drawing/paint";
import { TOOTH, type Slip } from "./slip";

const RATIO = 2;
/** Around the paper, for its shadow. */
const MARGIN = 18;
const PAPER = "#fffdf6";
const INKS: Partial<Record<Ink, string>> = { ink: "#1d1b18", soft: "#6b665d" };

export async function printed({ shapes, width, height }: Slip): Promise<HTMLCanvasElement> {
  await loadFonts();
  const canvas = document.createElement("canvas");
  canvas.width = (width + 2 * MARGIN) * RATIO;
  canvas.height = (height + 2 * MARGIN) * RATIO;
  const context = canvas.getContext("2d")!;
  context.scale(RATIO, RATIO);
  context.fillStyle = "#dcd7cb";
  context.fillRect(0, 0, width + 2 * MARGIN, height + 2 * MARGIN);
  context.translate(MARGIN, MARGIN);
  tear(context, width, height);
  paint(context, shapes, (ink) => INKS[ink] ?? INKS.ink!);
  return canvas;
}

/** The paper, with teeth where it was torn off. */
function tear(context: CanvasRenderingContext2D, width: number, height: number): void {
  const num = Math.round(width / TOOTH);
  const step = width / num;
  context.save();
  context.shadowColor = "rgb(60 50 30 / 0.35)";
  context.shadowBlur = 12 * RATIO;
  context.shadowOffsetY = 3 * RATIO;
  context.fillStyle = PAPER;
  context.beginPath();
  context.moveTo(0, TOOTH);
  for (let tooth = 0; tooth < num; tooth++) {
    context.lineTo((tooth + 0.5) * step, 0);
    context.lineTo((tooth + 1) * step, TOOTH);
  }
  for (let tooth = num; tooth > 0; tooth--) {
    context.lineTo(tooth * step, height - TOOTH);
    context.lineTo((tooth - 0.5) * step, height);
  }
  context.lineTo(0, height - TOOTH);
  context.closePath();
  context.fill();
  context.restore();
}

export function pngOf(canvas: HTMLCanvasElement): Promise<Blob> {
  return new Promise((done, failed) =>
    canvas.toBlob(
      (blob) => (blob ? done(blob) : failed(new Error("The picture is too large."))),
      "image/png",
    ),
  );
}
