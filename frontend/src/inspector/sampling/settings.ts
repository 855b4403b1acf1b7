/** The settings that can be tried on an answer that was drawn with others. */
import type { SamplingParams } from "../../protocol/events";

export type KnobName =
  | "temperature"
  | "top_p"
  | "min_p"
  | "top_k"
  | "repetition_penalty"
  | "frequency_penalty"
  | "presence_penalty"
  | "dry_multiplier";

/** Each setting that can be tried. */
export type KnobSettings = Record<KnobName, number>;

export interface Knob {
  name: KnobName;
  label: string;
  min: number;
  max: number;
  step: number;
  /** The value that switches it off; null: none does. */
  off: number | null;
  isPenalty?: boolean;
}

/** Beside the bars. */
export const FIRST_KNOBS: readonly Knob[] = [
  { name: "temperature", label: "Temperature", min: 0, max: 2, step: 0.01, off: null },
  { name: "top_p", label: "Top-p", min: 0.05, max: 1, step: 0.01, off: 1 },
  { name: "min_p", label: "Min-p", min: 0, max: 0.5, step: 0.01, off: 0 },
];

/** Behind "All settings". */
export const MORE_KNOBS: readonly Knob[] = [
  { name: "top_k", label: "Top-k", min: 0, max: 50, step: 1, off: 0 },
  {
    name: "repetition_penalty",
    label: "Repetition penalty",
    min: 1,
    max: 2,
    step: 0.05,
    off: 1,
    isPenalty: true,
  },
  {
    name: "frequency_penalty",
    label: "Frequency penalty",
    min: 0,
    max: 2,
    step: 0.1,
    off: 0,
    isPenalty: true,
  },
  { name: "presence_penalty", label: "Presence penalty", min: 0, max: 2, step: 0.1, off: 0, isPenalty: true },
  { name: "dry_multiplier", label: "DRY", min: 0, max: 4, step: 0.1, off: 0 },
];

export const KNOBS = [...FIRST_KNOBS, ...MORE_KNOBS];

/** The settings of a request that can be tried. */
export function ownSettings(params: SamplingParams): KnobSettings {
  return Object.fromEntries(KNOBS.map(({ name }) => [name, params[name] ?? 0])) as unknown as KnobSettings;
}

export function changedKnobs(own: KnobSettings, wanted: KnobSettings): Knob[] {
  return KNOBS.filter(({ name }) => own[name] !== wanted[name]);
}

/** "temperature 1.2 and top-p off". */
export function settingsTold(changed: Knob[], wanted: KnobSettings): string {
  const parts = changed.map(({ name, label, off }) => {
    const value = wanted[name] === off ? "off" : wanted[name];
    return `${label.toLowerCase()} ${value}`;
  });
  return parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}
