/** The large picture of the journey at one moment. The answer's ribbon stands above the draw and above the release. */
import type { TokenSampled } from "../../protocol/events";
import { sceneAt, type SceneId } from "../../trace/journey/scenes";
import type { TraceView } from "../../trace/view";
import { RIBBON_HEIGHT, ribbonShapes } from "./answer-ribbon";
import { billShapes } from "./bill";
import { samplingShapes } from "./sampling";
import { gatewayShapes } from "./gateway";
import { cacheShapes, prefillShapes } from "./prefill";
import { queueShapes } from "./queue";
import type { Area, Shape } from "./shapes";
import { releaseShapes } from "./release";
import { tokenShapes } from "./tokens";
import { contextShapes } from "./context";

/** Least height at which all pictures work, with few rows. */
export const LEAST_HEIGHT = 380;
const MARGIN = 4;
/** Least height at which the ribbon leaves the candidates enough room. */
const RIBBON_FROM = 270;

export interface Size {
  width: number;
  height: number;
}

/** Facts that the log up to this moment does not have. */
export interface Around {
  /** The answer's tokens after those of the view, where they are known. */
  ahead?: readonly TokenSampled[];
  /** The scene to show. While the answer is written, the draw stays on the screen. */
  scene?: SceneId;
  /** True when tokens follow each other so fast that bars only grow and shrink. */
  isFast?: boolean;
}

/**
 * Shapes of a moment's scene in a box of this size.
 *
 * `beat`: progress in showing the newest event, 0 to 1. `question`: the message's text, where the log has it.
 */
export function sceneShapes(
  view: TraceView,
  size: Size,
  beat: number,
  question: string | null,
  { ahead = [], scene = sceneAt(view), isFast = false }: Around = {},
): Shape[] {
  if (!(size.width > 0)) return [];
  const area = { x: MARGIN, y: 6, width: Math.max(1, size.width - 2 * MARGIN), height: size.height - 12 };
  if (scene === "gateway" || scene === "safety") return gatewayShapes(view, area, beat, question);
  if (scene !== "sampling" && scene !== "release") return PICTURES[scene](view, area, beat);
  const hasRibbon = area.height >= RIBBON_FROM && view.tokens.length > 0;
  const top = hasRibbon ? RIBBON_HEIGHT : 0;
  const below = { ...area, y: area.y + top, height: area.height - top };
  const picture =
    scene === "sampling" ? samplingShapes(view, below, beat, isFast) : releaseShapes(view, below, beat);
  return [...(hasRibbon ? ribbonShapes(view, area, ahead) : []), ...picture];
}

type Picture = (view: TraceView, area: Area, beat: number) => Shape[];

const PICTURES: Record<Exclude<SceneId, "gateway" | "safety" | "sampling" | "release">, Picture> = {
  context: contextShapes,
  tokens: tokenShapes,
  queue: queueShapes,
  cache: cacheShapes,
  prefill: prefillShapes,
  bill: billShapes,
};
