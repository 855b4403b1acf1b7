/** Words on what becomes of the oldest turns. Pure: knows nothing of the server or the screen. */
import type { Preview } from "../protocol/api";
import type { WindowPolicy } from "../state/conversation/settings";
import { counted } from "../trace/format";

/** What the next prompt leaves out; empty: nothing more than before. */
export function nextWords({ dropped, num_dropped_turns: num }: Preview): string {
  if (!dropped.length) return "";
  const tokens = dropped.reduce((sum, { num_tokens }) => sum + num_tokens, 0);
  const turns = num === 1 ? "the oldest turn" : `the oldest ${num} turns`;
  return `The next prompt will drop ${turns} (${counted(tokens, "token")}).`;
}

/** What happens once the window is full. */
export function soonWords(policy: WindowPolicy): string {
  const told = {
    drop: "Soon the oldest turns will be dropped.",
    summarise: "After the next answer the oldest turns will be summarised.",
    keep: "Soon a message will not fit: this chat keeps all its turns.",
  };
  return `The window is nearly full. ${told[policy]}`;
}
