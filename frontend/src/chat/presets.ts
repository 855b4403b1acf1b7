/** Presets: settings under a name, those that come with the product and a user's own. */
import type { SamplingParams } from "../protocol/events";
import type { Preset } from "../transport/api";

/** What a preset changes; without a system prompt or a number of answers those stay. */
export interface Use {
  params: SamplingParams;
  system_prompt?: string;
  n?: number;
}

interface BuiltIn {
  name: string;
  help: string;
  change: Partial<SamplingParams>;
}

/** As changes of the model's own defaults. */
export const BUILT_IN: BuiltIn[] = [
  {
    name: "Precise",
    help: "Temperature 0: the most likely token after the penalties.",
    change: { temperature: 0 },
  },
  { name: "Balanced", help: "The model's own defaults.", change: {} },
  {
    name: "Wild",
    help: "Temperature 1.2, min-p 0.05: unlikely words get their chance.",
    change: { temperature: 1.2, top_p: 1, min_p: 0.05 },
  },
];

export function builtInUse({ change }: BuiltIn, defaults: SamplingParams): Use {
  return { params: { ...defaults, ...change } };
}

/** A parameter that came after the preset was saved is as the model has it. */
export function ownUse({ params, system_prompt, n }: Preset, defaults: SamplingParams): Use {
  return { params: { ...defaults, ...params }, system_prompt, n };
}

/** In the order of their names. */
export function withPreset(presets: Preset[], changed: Preset): Preset[] {
  const others = presets.filter(({ id }) => id !== changed.id);
  return [...others, changed].sort((a, b) => a.name.localeCompare(b.name));
}
