/** The features that a request travels with, and where each was turned on. */
import type { TraceView } from "../view";

export interface Feature {
  name: string;
  /** What turned it on, or off. */
  origin: string;
}

const FOR_CHAT = "turned on by the user, for this chat";
const KNOWN: Record<string, Feature> = {
  memory: { name: "Memory", origin: FOR_CHAT },
  attachments: { name: "Attached files", origin: "turned on by the files of this chat" },
  summary: { name: "Summary of older turns", origin: "turned on by a summary of this branch" },
  "speculation:off": { name: "Guessing ahead", origin: "turned off by the user, for this chat" },
};
/** The flag's prefix, and what the tool does that it names. */
const OF_TOOLS: Record<string, string> = {
  tool: FOR_CHAT,
  approval: "waits for the user’s approval before each call",
  declined: "declines each call, since this request cannot ask its user",
};

export function featuresOf({ accepted }: TraceView): Feature[] {
  return (accepted?.features ?? []).map((flag) => {
    const [prefix, ...name] = flag.split(":");
    const origin = OF_TOOLS[prefix!];
    if (origin) return { name: `Tool ${name.join(":")}`, origin };
    return KNOWN[flag] ?? { name: flag, origin: "came with the request" };
  });
}
