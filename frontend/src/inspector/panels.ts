/** The inspector's panels in four groups, each in the order of its tabs; a panel is fetched when it is first shown. */
import type { Component } from "svelte";
import type { RequestTrace } from "../state/request/request-trace.svelte";
import type { StageId } from "../trace/stages";
import { hasTools, madeCalls, isEmbedding, type TraceView } from "../trace/view";

/** A panel's properties; each panel uses those it needs. */
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

export const GROUPS = ["Story", "Prompt", "Model", "Record"] as const;
export type Group = (typeof GROUPS)[number];

export interface Panel {
  name: string;
  group: Group;
  load: () => Promise<{ default: Component<PanelProps> }>;
  /** It asks the server for more than the trace. */
  needsServer?: boolean;
  /** True when this request has content for the panel; a panel without this function always has. */
  hasContent?: (view: TraceView) => boolean;
}

const isGenerated = (view: TraceView) => !isEmbedding(view);

export const PANELS = [
  {
    name: "Journey",
    group: "Story",
    load: () => import("./journey/JourneyPanel.svelte"),
    hasContent: isGenerated,
  },
  {
    name: "Overview",
    group: "Story",
    load: () => import("./overview/OverviewPanel.svelte"),
    hasContent: isGenerated,
  },
  {
    name: "Context",
    group: "Prompt",
    load: () => import("./context/ContextPanel.svelte"),
    hasContent: (view) => view.context !== null,
  },
  {
    name: "Memory",
    group: "Prompt",
    load: () => import("./memory/MemoryPanel.svelte"),
    hasContent: (view) => view.recalled !== null,
  },
  {
    name: "Files",
    group: "Prompt",
    load: () => import("./files/FilesPanel.svelte"),
    hasContent: (view) => view.attached !== null,
  },
  {
    name: "Embedding",
    group: "Prompt",
    load: () => import("./embedding/EmbeddingPanel.svelte"),
    hasContent: isEmbedding,
  },
  {
    name: "Tokens",
    group: "Prompt",
    load: () => import("./tokens/TokensPanel.svelte"),
    hasContent: isGenerated,
  },
  {
    name: "Safety",
    group: "Prompt",
    load: () => import("./safety/SafetyPanel.svelte"),
    hasContent: (view) => view.inputCheck !== null || view.outputChecks.length > 0 || view.refusal !== null,
  },
  {
    name: "Gateway",
    group: "Prompt",
    load: () => import("./gateway/GatewayPanel.svelte"),
    hasContent: (view) => view.gateway !== null && view.gateway.limits.length > 0,
  },
  {
    name: "Sampling",
    group: "Model",
    load: () => import("./sampling/SamplingPanel.svelte"),
    hasContent: (view) => view.tokens.length > 0,
  },
  {
    name: "Layers",
    group: "Model",
    load: () => import("./layers/LayersPanel.svelte"),
    needsServer: true,
    hasContent: isGenerated,
  },
  {
    name: "Cache",
    group: "Model",
    load: () => import("./cache/CachePanel.svelte"),
    hasContent: (view) => view.cache !== null,
  },
  {
    name: "Batch",
    group: "Model",
    load: () => import("./batch/BatchPanel.svelte"),
    hasContent: (view) => view.prefill.length > 0,
  },
  {
    name: "Guessing",
    group: "Model",
    load: () => import("./guessing/GuessingPanel.svelte"),
    hasContent: (view) => view.drafts.passes.size > 0,
  },
  {
    name: "Grammar",
    group: "Model",
    load: () => import("./grammar/GrammarPanel.svelte"),
    hasContent: (view) => view.masks.length > 0,
  },
  {
    name: "Tools",
    group: "Model",
    load: () => import("./tools/ToolsPanel.svelte"),
    hasContent: (view) => madeCalls(view).length > 0 || hasTools(view),
  },
  { name: "Timing", group: "Record", load: () => import("./timing/TimingPanel.svelte") },
  { name: "Network", group: "Record", load: () => import("./network/NetworkPanel.svelte") },
  {
    name: "Bill",
    group: "Record",
    load: () => import("./bill/BillPanel.svelte"),
    hasContent: (view) => view.bill !== null,
  },
  { name: "Events", group: "Record", load: () => import("./events/EventsPanel.svelte") },
] as const satisfies Panel[];

export type PanelName = (typeof PANELS)[number]["name"];

/** The default panel. */
export const FIRST_PANEL: PanelName = "Journey";

/** The panel in place of those that tell of an answer. */
export const OF_EMBEDDING: PanelName = "Embedding";

/** The panel that shows a stage best. */
export const PANEL_OF: Record<StageId, PanelName> = {
  browser: "Timing",
  gateway: "Gateway",
  safety: "Safety",
  context: "Context",
  tokens: "Tokens",
  queue: "Timing",
  prefill: "Timing",
  sampling: "Sampling",
  tools: "Tools",
  release: "Safety",
  bill: "Bill",
};

export function panelsFor(hasServer: boolean): Panel[] {
  return PANELS.filter((panel: Panel) => hasServer || !panel.needsServer);
}

export const groupOf = (name: PanelName): Group => PANELS.find((panel) => panel.name === name)!.group;

/** A group's panels that have content, and the one that is shown. */
export function offered(panels: Panel[], group: Group, whole: TraceView, shown?: PanelName): Panel[] {
  return panels.filter(
    (panel) => panel.group === group && (panel.name === shown || (panel.hasContent?.(whole) ?? true)),
  );
}

export async function loadPanel(name: PanelName): Promise<Component<PanelProps>> {
  return (await PANELS.find((panel) => panel.name === name)!.load()).default;
}
