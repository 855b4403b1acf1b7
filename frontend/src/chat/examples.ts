/** The examples of the first page, each with settings of its own that show another part of the machinery. */
import type { SamplingParams } from "../protocol/events";

export interface Example {
  text: string;
  watch: string;
  /** They hold for this message alone. */
  own: Partial<SamplingParams>;
}

/** The answers were read: benchmarks/repetition.py asks the bundled model. */
export const EXAMPLES: Example[] = [
  {
    text: "What is the capital of France?",
    watch: "Sure: one word gets nearly all the probability.",
    own: { temperature: 0.2 },
  },
  {
    text: "Write one sentence about the sea.",
    watch: "Undecided: see the words that the model almost chose.",
    own: { temperature: 0.9 },
  },
  {
    text: "Give me three tips for sleeping better.",
    watch: "A list: line breaks and numbers are tokens too.",
    own: { temperature: 0.4 },
  },
  {
    text: "Invent a pirate: name, age and ship.",
    watch: "A fixed form: a grammar removes every word that breaks it.",
    own: {
      temperature: 0.6,
      json_schema: JSON.stringify({
        type: "object",
        properties: {
          name: { type: "string", maxLength: 28 },
          age: { type: "integer", minimum: 18, maximum: 99 },
          ship: { type: "string", maxLength: 28 },
        },
        required: ["name", "age", "ship"],
        additionalProperties: false,
      }),
    },
  },
];

/** Above that a model is not called tiny. */
const TINY = 500e6;

/** A small model's expected quality; empty: nothing to say, or its size is not known. */
export function kindWord(numParams: number | null | undefined): string {
  if (!numParams || numParams > TINY) return "";
  return `A tiny model (${Math.round(numParams / 1e6)}M) runs here. Its facts are often wrong, but every step you see is real.`;
}
