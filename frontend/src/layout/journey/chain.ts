/** The logits processors in their order, from the model to the draw; the one at work is marked. */
import type { SamplingParams } from "../../protocol/events";
import { count } from "../../trace/format";
import type { Masses } from "./masses";
import { box, text, type Area, type Shape } from "./shapes";
import { sansWidth } from "./words";

export const CHAIN_ROW = 23;

const NAMES: Record<string, string> = {
  model: "the model",
  greedy: "greedy",
  thinking: "end of thinking",
  grammar: "grammar",
  logit_bias: "bias",
  banned_tokens: "banned",
  penalties: "penalties",
  dry: "DRY",
  temperature: "temperature",
  top_k: "top-k",
  top_p: "top-p",
  min_p: "min-p",
  typical_p: "typical-p",
};

export interface ChainPlace {
  label: string;
  x: number;
  row: number;
  width: number;
}

/** Places of the processors in their order, in as many rows as they need. */
export function chainPlaces({ steps }: Masses, params: SamplingParams, area: Area): ChainPlace[] {
  let [x, row] = [0, 0];
  return steps.map((step) => {
    const label = stepLabel(step, params);
    const width = sansWidth(label, 11) + 14;
    if (x > 0 && x + width > area.width) [x, row] = [0, row + 1];
    const place = { label, x: area.x + x, row, width };
    x += width + 14;
    return place;
  });
}

/** Draw the processors. The one at work is marked; null: none is at work. */
export function chainShapes(places: ChainPlace[], area: Area, now: number | null): Shape[] {
  return places.flatMap(({ label, x, row, width }, index) => {
    const y = area.y + 26 + row * CHAIN_ROW;
    const isNow = now === index;
    const ground = isNow
      ? ({ fill: "sampling-pale", stroke: "sampling" } as const)
      : ({ stroke: "line" } as const);
    return [
      ...(index && x > area.x ? [text(`then-${index}`, x - 9, y + 13, "›", { size: 11, ink: "faint" })] : []),
      box(`step-${index}`, { x, y, width, height: 18 }, { ...ground, radius: 9 }),
      text(`step-said-${index}`, x + width / 2, y + 13, label, {
        size: 11,
        ink: isNow ? "ink" : "soft",
        anchor: "middle",
      }),
    ];
  });
}

function stepLabel({ name, numLeft }: Masses["steps"][number], params: SamplingParams): string {
  const value = (params as unknown as Record<string, unknown>)[name];
  const setting = typeof value === "number" ? ` ${value}` : "";
  const left = numLeft === null ? "" : `: ${count(numLeft)} left`;
  return `${NAMES[name] ?? name}${setting}${left}`;
}
