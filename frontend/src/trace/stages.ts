/** The stages of a request, in its order. Knows no colours: the hue of each stands in the theme. */
export const STAGES = [
  { id: "browser", label: "Browser" },
  { id: "gateway", label: "Gate" },
  { id: "safety", label: "Safety, input" },
  { id: "context", label: "Context" },
  { id: "prompt", label: "Tokenizer" },
  { id: "queue", label: "Queue" },
  { id: "prefill", label: "Prefill" },
  { id: "decode", label: "Decode" },
  { id: "guard", label: "Safety, output" },
  { id: "bill", label: "Bill and save" },
] as const;

export type StageId = (typeof STAGES)[number]["id"];
