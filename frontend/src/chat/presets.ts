/** Presets in use: those that come with the product, and a user's own. */
import type { SamplingParams } from "../protocol/events";
import type { Preset as BuiltIn } from "../trace/sampling/presets";
import type { Preset } from "../protocol/api";

/** A preset's changes; without a system prompt or a number of answers those stay. */
export interface Use {
  params: SamplingParams;
  system_prompt?: string;
  n?: number;
}

export function builtInUse({ change }: BuiltIn, defaults: SamplingParams): Use {
  return { params: { ...defaults, ...change } };
}

/** A parameter newer than the preset keeps the model's value. */
export function ownUse({ params, system_prompt, n }: Preset, defaults: SamplingParams): Use {
  return { params: { ...defaults, ...params }, system_prompt, n };
}

/** In the order of their names. */
export function withPreset(presets: Preset[], changed: Preset): Preset[] {
  const others = presets.filter(({ id }) => id !== changed.id);
  return [...others, changed].sort((a, b) => a.name.localeCompare(b.name));
}
