/** The stages of a request, in its order. Knows no colours: the hue of each stands in the theme. */
export const STAGES = [
  { id: "browser", label: "Browser" },
  { id: "gateway", label: "Gateway" },
  { id: "safety", label: "Safety" },
  { id: "context", label: "Context" },
  { id: "tokens", label: "Tokens" },
  { id: "queue", label: "Queue" },
  { id: "prefill", label: "Prefill" },
  { id: "sampling", label: "Sampling" },
  { id: "tools", label: "Tools" },
  { id: "release", label: "Release" },
  { id: "bill", label: "Bill and save" },
] as const;

export type StageId = (typeof STAGES)[number]["id"];
