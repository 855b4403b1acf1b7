/** The colours that the journey's inks stand for, as CSS. */
import type { Ink } from "../layout/journey/shapes";
import { stageColor } from "../theme/stages";
import { STAGES, type StageId } from "../trace/stages";

const STAGE_IDS = new Set<string>(STAGES.map(({ id }) => id));

export function cssOf(ink: Ink): string {
  if (ink === "on-hue") return "#14161a";
  const id = ink.replace("-pale", "") as StageId;
  if (!STAGE_IDS.has(id)) return `var(--${ink})`;
  return ink === id ? stageColor(id) : `color-mix(in oklab, ${stageColor(id)} 22%, var(--paper))`;
}
