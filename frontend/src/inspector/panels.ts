/** The inspector's panels, in the order of their tabs, which is the request's path; each is fetched when first shown. */
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
  /** Go to another panel. */
  onPanel: (name: string) => void;
  /** Follow a finding to another panel, and to a token in it: Back leads here again. */
  onFollow: (name: string, position?: number) => void;
}

export interface Panel {
  name: string;
  /** Panels of one part of the path stand together; a hairline parts them from the next. */
  part: "whole" | "prompt" | "model" | "sent" | "record";
  load: () => Promise<{ default: Component<PanelProps> }>;
  /** It asks the server for more than the trace. */
  needsServer?: boolean;
  /** Whether this request has something for it; without one it always has. */
  hasContent?: (view: TraceView) => boolean;
}

export const PANELS = [
  { name: "Overview", part: "whole", load: () => import("./OverviewPanel.svelte") },
  { name: "Journey", part: "whole", load: () => import("./JourneyPanel.svelte") },
  { name: "Timing", part: "whole", load: () => import("./TimingPanel.svelte") },
  {
    name: "Limits",
    part: "prompt",
    load: () => import("./LimitsPanel.svelte"),
    hasContent: (view) => view.gateway !== null && view.gateway.limits.length > 0,
  },
  {
    name: "Safety",
    part: "prompt",
    load: () => import("./SafetyPanel.svelte"),
    hasContent: (view) => view.inputCheck !== null || view.outputChecks.length > 0,
  },
  {
    name: "Context",
    part: "prompt",
    load: () => import("./ContextPanel.svelte"),
    hasContent: (view) => view.context !== null,
  },
  { name: "Tokens", part: "prompt", load: () => import("./TokensPanel.svelte") },
  {
    name: "Cache",
    part: "prompt",
    load: () => import("./CachePanel.svelte"),
    hasContent: (view) => view.cache !== null,
  },
  {
    name: "Batch",
    part: "prompt",
    load: () => import("./BatchPanel.svelte"),
    hasContent: (view) => view.prefill.length > 0,
  },
  { name: "Layers", part: "model", load: () => import("./LayersPanel.svelte"), needsServer: true },
  {
    name: "Sampling",
    part: "model",
    load: () => import("./SamplingPanel.svelte"),
    hasContent: (view) => view.tokens.length > 0,
  },
  {
    name: "Speculation",
    part: "model",
    load: () => import("./SpeculationPanel.svelte"),
    hasContent: (view) => view.drafts.passes.size > 0,
  },
  {
    name: "Grammar",
    part: "model",
    load: () => import("./GrammarPanel.svelte"),
    hasContent: (view) => view.masks.length > 0,
  },
  {
    name: "Tools",
    part: "model",
    load: () => import("./ToolsPanel.svelte"),
    hasContent: (view) => view.toolCalls.length > 0,
  },
  { name: "Network", part: "record", load: () => import("./NetworkPanel.svelte") },
  {
    name: "Bill",
    part: "record",
    load: () => import("./BillPanel.svelte"),
    hasContent: (view) => view.bill !== null,
  },
  { name: "Events", part: "record", load: () => import("./EventsPanel.svelte") },
] as const satisfies Panel[];

export type PanelName = (typeof PANELS)[number]["name"];

/** Where nothing else is asked for: what stands out, the figures, and the way to the journey. */
export const FIRST_PANEL: PanelName = "Overview";

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

/** Runs of one part of the path. */
export function partsOf(panels: Panel[]): Panel[][] {
  const parts: Panel[][] = [];
  for (const panel of panels) {
    if (parts.at(-1)?.[0]?.part === panel.part) parts.at(-1)!.push(panel);
    else parts.push([panel]);
  }
  return parts;
}

export async function loadPanel(name: PanelName): Promise<Component<PanelProps>> {
  return (await PANELS.find((panel) => panel.name === name)!.load()).default;
}
