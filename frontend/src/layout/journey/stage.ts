/** The large picture of the journey at one moment. While the answer is written, draw and release are one picture. */
import { sceneAt, type SceneId } from "../../trace/scenes";
import type { TraceView } from "../../trace/view";
import { billShapes } from "./bill";
import { drawShapes } from "./draw";
import { messageShapes } from "./message";
import { cacheShapes, prefillShapes } from "./prompt";
import { queueShapes } from "./queue";
import { line, type Area, type Shape } from "./shapes";
import { streamShapes } from "./stream";
import { tokenShapes } from "./tokens";
import { windowShapes } from "./window";

/** What the pictures were made for; where there is less room they show fewer rows, down to the least. */
export const FULL_HEIGHT = 560;
export const LEAST_HEIGHT = 400;
/** The release's part of it, below the draw. */
const STREAM_HEIGHT = 204;
const LEAST_STREAM_HEIGHT = 176;
const MARGIN = 4;

export interface Size {
  width: number;
  height: number;
}

/**
 * Shapes of the scene at the playhead in a box of this size. `beat`, 0 to 1, is how far the newest event's
 * showing has come; `question` is the message's text, where the log has it.
 */
export function stageShapes(view: TraceView, size: Size, beat: number, question: string | null): Shape[] {
  if (!(size.width > 0)) return [];
  const area = { x: MARGIN, y: 6, width: Math.max(1, size.width - 2 * MARGIN), height: size.height - 12 };
  const scene = sceneAt(view);
  if (scene === "message" || scene === "check") return messageShapes(view, area, beat, question);
  return PICTURES[scene](view, area, beat);
}

const PICTURES: Record<
  Exclude<SceneId, "message" | "check">,
  (view: TraceView, area: Area, beat: number) => Shape[]
> = {
  window: windowShapes,
  tokens: tokenShapes,
  queue: queueShapes,
  cache: cacheShapes,
  prefill: prefillShapes,
  draw: answerShapes,
  stream: answerShapes,
  bill: billShapes,
};

function answerShapes(view: TraceView, area: Area, beat: number): Shape[] {
  const spare = FULL_HEIGHT - 12 - area.height;
  const streamHeight = Math.max(LEAST_STREAM_HEIGHT, STREAM_HEIGHT - spare);
  const drawHeight = area.height - streamHeight;
  const y = area.y + drawHeight;
  return [
    ...drawShapes(view, { ...area, height: drawHeight }, beat).map((shape) => ({
      ...shape,
      key: `draw-${shape.key}`,
    })),
    line("between", [area.x, y - 10, area.x + area.width, y - 10]),
    ...streamShapes(view, { ...area, y: y + 4, height: streamHeight - 4 }, beat),
  ];
}
