/** The two lanes of a race: their settings, and their states in words while they run. */
import type { SamplingParams } from "../../protocol/events";
import { chanceOf, type Divergence } from "../../trace/compare/divergence";
import { endText } from "../../trace/compare/figures";
import { counted, duration, percent } from "../../trace/format";
import { messageOf } from "../../trace/context/reading";
import { PRESETS } from "../../trace/sampling/presets";
import { tokensPerSecond } from "../../trace/words/sentences";
import { asWord, nameOf } from "../../trace/token-name";
import { allTokens, firstTextUs, isOver, type TraceView } from "../../trace/view";
import type { Model } from "../../protocol/api";

export type Setting = Pick<SamplingParams, "temperature" | "top_p" | "min_p">;

/** The settings that each of the product's presets makes of a model's own. */
export function presetsOf(defaults: SamplingParams): { name: string; setting: Setting }[] {
  return PRESETS.map(({ name, change }) => {
    const { temperature, top_p, min_p } = { ...defaults, ...change };
    return { name, setting: { temperature, top_p, min_p } };
  });
}

export const NAMES = ["A", "B"] as const;

/** The seeds that JavaScript holds exactly. */
const NUM_SEEDS = 2 ** 53;
export const drawSeed = (): number => Math.floor(Math.random() * NUM_SEEDS);

/** A lane's problem, for people; empty: none. */
export function problemOf({ temperature, top_p, min_p }: Setting): string {
  if (!(temperature >= 0 && temperature <= 2)) return "Temperature must be between 0 and 2.";
  if (!(top_p > 0 && top_p <= 1)) return "Top-p must be above 0 and at most 1.";
  return min_p >= 0 && min_p <= 1 ? "" : "Min-p must be between 0 and 1.";
}

/** The settings that a race begins with, but for those of its lanes. */
export interface Beginning {
  text: string;
  systemPrompt: string;
  /** Null: each model's own. */
  params: SamplingParams | null;
}

/** One of the two that race. */
export interface Entry {
  model: string;
  params: SamplingParams;
}

export function beginningOf({ default_system_prompt }: Pick<Model, "default_system_prompt">): Beginning {
  return { text: "", systemPrompt: default_system_prompt, params: null };
}

/** As a saved request had it. */
export function beginningFrom(view: TraceView): Beginning {
  const system = view.context?.segments.find(({ source }) => source === "conversation:system");
  return {
    text: messageOf(view) ?? "",
    systemPrompt: system?.text ?? "",
    params: view.accepted!.params,
  };
}

/** seed: the same draws in each lane; null: each its own. */
export function entriesOf(
  { params }: Pick<Beginning, "params">,
  models: Pick<Model, "id" | "default_params">[],
  settings: Setting[],
  seed: number | null,
): Entry[] {
  return settings.map((setting, lane) => {
    const { id, default_params } = models[lane]!;
    return { model: id, params: { ...(params ?? default_params), ...setting, seed } };
  });
}

/** A lane's state in a line. */
export function toldOf(view: TraceView): string {
  const first = firstTextUs(view);
  const speed = tokensPerSecond(view);
  const facts = [
    counted(allTokens(view).length, "token"),
    first === null ? "" : `first text after ${duration(first)}`,
    speed === null ? "" : `${speed.toFixed(0)} tokens/s`,
    isOver(view) ? endText(view) : "",
  ];
  return view.accepted ? facts.filter(Boolean).join(" · ") : "Waiting";
}

/** The place at which the lanes part, in words; empty: they have not parted yet. */
export function forkText(at: Divergence | null, lanes: TraceView[]): string {
  if (!at) return lanes.every(isOver) && lanes.length ? "Both answers are the same, token for token." : "";
  const said = [at.a, at.b].map((token, index) => {
    if (!token) return `${NAMES[index]} ends`;
    const view = lanes[index]!;
    const chance = token.sampled && chanceOf({ token: token.sampled, view }, token.id).model;
    const name = asWord(nameOf({ piece: token.piece, is_special: token.isSpecial }));
    return `${NAMES[index]} takes “${name}”${chance === null ? "" : ` (${percent(chance)})`}`;
  });
  return `They differ from token ${at.index + 1} on: ${said.join(", ")}.`;
}
