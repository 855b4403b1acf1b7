/** The features that a request travels with, and where each was turned on. */
import type { TraceView } from "../view";

export interface Feature {
  name: string;
  /** Who or what turned it on. */
  origin: string;
}

const KNOWN: Record<string, Feature> = {
  memory: { name: "Memory", origin: "by the user, for this chat" },
  attachments: { name: "Attachments", origin: "by the user, with this chat" },
  summary: { name: "Summary of older turns", origin: "by a summary of this branch" },
  speculation: { name: "Speculative decoding", origin: "by the worker" },
};

export function featuresOf({ accepted }: TraceView): Feature[] {
  return (accepted?.features ?? []).map((flag) => {
    if (flag.startsWith("tool:"))
      return { name: `Tool ${flag.slice("tool:".length)}`, origin: "by the user, for this chat" };
    return KNOWN[flag] ?? { name: flag, origin: "with the request" };
  });
}
