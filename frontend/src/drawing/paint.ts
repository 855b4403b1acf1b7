/** Shapes on a canvas, as the journey's picture draws them as SVG. Knows neither themes nor the shapes' meaning. */
import type { BoxShape, Ink, LineShape, Shape, TextShape } from "../layout/journey/shapes";

export type ColorOf = (ink: Ink) => string;

export const FONTS = {
  sans: '"Inter Variable", system-ui, sans-serif',
  mono: '"JetBrains Mono Variable", ui-monospace, monospace',
};

/** A canvas knows a font only once it is loaded. */
export async function loadFonts(): Promise<void> {
  const faces = ["400 13px", "600 13px"].flatMap((face) =>
    Object.values(FONTS).map((font) => document.fonts.load(`${face} ${font}`)),
  );
  await Promise.all(faces);
}

export function paint(context: CanvasRenderingContext2D, shapes: Shape[], colorOf: ColorOf): void {
  // The text is shown as it was sent: no ligatures.
  context.textRendering = "optimizeSpeed";
  for (const shape of shapes) {
    context.save();
    context.globalAlpha = shape.opacity ?? 1;
    if (shape.kind === "box") paintBox(context, shape, colorOf);
    else if (shape.kind === "text") paintText(context, shape, colorOf);
    else paintLine(context, shape, colorOf);
    context.restore();
  }
}

function paintBox(context: CanvasRenderingContext2D, shape: BoxShape, colorOf: ColorOf): void {
  const { x, y, width, height, radius = 0 } = shape;
  if (!(width > 0 && height > 0)) return;
  context.beginPath();
  context.roundRect(x, y, width, height, Math.min(radius, width / 2, height / 2));
  if (shape.fill) {
    context.fillStyle = colorOf(shape.fill);
    if (shape.isHatched) hatch(context, shape, colorOf(shape.fill));
    else context.fill();
  }
  if (!shape.stroke) return;
  context.strokeStyle = colorOf(shape.stroke);
  if (shape.isDashed) context.setLineDash([3, 3]);
  context.stroke();
}

/** Within the box that is the path now. */
function hatch(context: CanvasRenderingContext2D, { x, y, width, height }: BoxShape, color: string): void {
  context.save();
  context.clip();
  context.globalAlpha *= 0.6;
  context.strokeStyle = color;
  context.lineWidth = 2;
  context.beginPath();
  for (let at = -height; at < width; at += 8.5) {
    context.moveTo(x + at, y + height);
    context.lineTo(x + at + height, y);
  }
  context.stroke();
  context.restore();
  context.beginPath();
  context.rect(x, y, width, height);
}

const ANCHORS = { middle: "center", end: "right" } as const;

function paintText(context: CanvasRenderingContext2D, shape: TextShape, colorOf: ColorOf): void {
  context.font = `${shape.isBold ? 600 : 400} ${shape.size}px ${FONTS[shape.font ?? "sans"]}`;
  context.textAlign = shape.anchor ? ANCHORS[shape.anchor] : "left";
  context.fillStyle = colorOf(shape.ink);
  context.fillText(shape.text, shape.x, shape.y);
  if (!shape.isStruck) return;
  const width = context.measureText(shape.text).width;
  const left = shape.anchor === "end" ? width : shape.anchor === "middle" ? width / 2 : 0;
  context.fillRect(shape.x - left, shape.y - shape.size * 0.32, width, Math.max(1, shape.size / 14));
}

function paintLine(context: CanvasRenderingContext2D, shape: LineShape, colorOf: ColorOf): void {
  context.strokeStyle = colorOf(shape.ink);
  context.lineWidth = shape.width ?? 1;
  if (shape.isDashed) context.setLineDash([3, 3]);
  context.beginPath();
  context.moveTo(shape.x1, shape.y1);
  context.lineTo(shape.x2, shape.y2);
  context.stroke();
}
