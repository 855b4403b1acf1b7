/** The inspector's panels, in the order of their tabs; each is fetched when it is first shown. */
import type { Component } from "svelte";
import type { RequestTrace } from "../state/request-trace.svelte";
import type { StageId } from "../theme/stages";
import type { TraceView } from "../trace/view";

/** What a panel is given; it takes of it what it needs. */
export interface PanelProps {
  trace: RequestTrace;
  /** The moment of the trace that is shown. */
  view: TraceView;
  /** Look at one generated token, in the Sampling panel. */
  onSelect: (position: number) => void;
}

interface Panel {
  name: string;
  load: () => Promise<{ default: Component<PanelProps> }>;
  /** It asks the server for more than the trace. */
  needsServer?: boolean;
}

export const PANELS = [
  { name: "Context", load: () => import("./ContextPanel.svelte") },
  { name: "Tokens", load: () => import("./TokensPanel.svelte") },
  { name: "Sampling", load: () => import("./SamplingPanel.svelte") },
  { name: "Layers", load: () => import("./LayersPanel.svelte"), needsServer: true },
  { name: "Timing", load: () => import("./TimingPanel.svelte") },
  { name: "Safety", load: () => import("./SafetyPanel.svelte") },
  { name: "Bill", load: () => import("./BillPanel.svelte") },
  { name: "Events", load: () => import("./EventsPanel.svelte") },
] as const satisfies Panel[];

export type PanelName = (typeof PANELS)[number]["name"];

/** The panel that shows a stage best. */
export const PANEL_OF: Record<StageId, PanelName> = {
  browser: "Timing",
  gateway: "Timing",
  safety: "Safety",
  context: "Context",
  prompt: "Tokens",
  queue: "Timing",
  prefill: "Timing",
  decode: "Sampling",
  guard: "Safety",
  bill: "Bill",
};

export function panelsFor(hasServer: boolean): Panel[] {
  return PANELS.filter((panel: Panel) => hasServer || !panel.needsServer);
}

export async function loadPanel(name: PanelName): Promise<Component<PanelProps>> {
  return (await PANELS.find((panel) => panel.name === name)!.load()).default;
}
