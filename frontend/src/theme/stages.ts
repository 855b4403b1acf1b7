/** The stages of a request and the hue each of them has everywhere: equal lightness and chroma, set in theme.css. */
export const STAGES = [
  { id: "browser", label: "Browser", hue: 265 },
  { id: "gateway", label: "Gate", hue: 225 },
  { id: "safety", label: "Safety, input", hue: 20 },
  { id: "context", label: "Context", hue: 140 },
  { id: "prompt", label: "Tokenizer", hue: 100 },
  { id: "queue", label: "Queue", hue: 300 },
  { id: "prefill", label: "Prefill", hue: 190 },
  { id: "decode", label: "Decode", hue: 165 },
  { id: "guard", label: "Safety, output", hue: 45 },
  { id: "bill", label: "Bill and save", hue: 70 },
] as const;

export type StageId = (typeof STAGES)[number]["id"];

export function stageColor(id: StageId): string {
  const hue = STAGES.find((stage) => stage.id === id)!.hue;
  return `oklch(var(--stage-l) var(--stage-c) ${hue})`;
}
