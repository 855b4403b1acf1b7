/** Findings on the prompt: text read again, left out or lost. Also findings on tools. */
import { usefulBlocks } from "../context/blocks";
import { count, counted } from "../format";
import { missOf, type Cause } from "../context/misses";
import { allCalls, allResults, numRead, type TraceView } from "../view";
import type { Finding } from "./finding";

/** Least number of missed blocks to report. Fewer cost less time than writing a few tokens. */
const MISSED_BLOCKS = 4;
/** Causes that are no fault: no block could have been found, or that is not known. */
const ORDINARY: Cause[] = ["none", "short", "first-turn", "empty", "unknown", "new-text"];

export function readings(view: TraceView): Finding[] {
  return [...miss(view), ...leftOut(view), ...lost(view), ...tools(view)];
}

function miss(view: TraceView): Finding[] {
  const { cache } = view;
  const found = missOf(view);
  if (!cache || !found || ORDINARY.includes(found.cause)) return [];
  const missed = usefulBlocks(view) * cache.block_size - cache.num_cached_tokens;
  if (missed < MISSED_BLOCKS * cache.block_size) return [];
  const what = cache.num_cached_tokens
    ? `Only ${count(cache.num_cached_tokens)} of ${counted(numRead(view), "prompt token")} came from the cache.`
    : `The model computed the whole prompt: none of its ${counted(numRead(view), "token")} came from the cache.`;
  return [{ kind: "cache", sentence: `${what} ${found.sentence}`, weight: missed / numRead(view) }];
}

function leftOut({ context }: TraceView): Finding[] {
  if (!context?.dropped.length) return [];
  const num = context.dropped.reduce((sum, { num_tokens }) => sum + num_tokens, 0);
  const { length } = context.dropped;
  return [
    {
      kind: "dropped",
      sentence: `${counted(length, "earlier message")} (${counted(num, "token")}) did not fit into the window: the model did not see ${length === 1 ? "it" : "them"}.`,
      weight: num / Math.max(1, num + context.num_prompt_tokens),
    },
  ];
}

function lost({ prompt }: TraceView): Finding[] {
  if (!prompt?.lossy_bytes) return [];
  const sentence = `${counted(prompt.lossy_bytes, "byte")} of the text ${prompt.lossy_bytes === 1 ? "has" : "have"} no token and did not reach the model.`;
  return [
    { kind: "lossy", sentence, weight: Math.min(1, prompt.lossy_bytes / Math.max(1, prompt.ids.length)) },
  ];
}

function tools(view: TraceView): Finding[] {
  const [failed] = allResults(view).filter(({ is_error }) => is_error);
  if (!failed) return [];
  const name = allCalls(view).find(({ call_id }) => call_id === failed.call_id)?.name ?? "";
  return [
    {
      kind: "tool",
      sentence: `The tool ${name} failed. The model continued with the tool's error message.`,
      weight: 1,
      at: failed.at,
    },
  ];
}
