/** The presets that come with the product: settings under a name, the same wherever one is offered. */
import type { SamplingParams } from "../../protocol/events";

export interface Preset {
  name: string;
  help: string;
  /** The preset's changes to the model's own defaults. */
  change: Partial<SamplingParams>;
}

export const PRESETS: Preset[] = [
  {
    name: "Precise",
    help: "Temperature 0: the most likely token after the penalties.",
    change: { temperature: 0 },
  },
  { name: "Balanced", help: "The model's own defaults.", change: {} },
  {
    name: "Wild",
    help: "Temperature 1.2, min-p 0.05: unlikely words get a chance.",
    change: { temperature: 1.2, top_p: 1, min_p: 0.05 },
  },
];
