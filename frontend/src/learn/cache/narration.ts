/** The request's blocks that the cache had. */
import { count, counted, duration } from "../../trace/format";
import { line, missing, type Line, type Narration } from "../own/reading-clock";
import { savedTime } from "../../trace/context/saved-time";
import { numRead } from "../../trace/view";

export const narrateBlocks: Narration = (view) => {
  const { cache, prompt, prefill, tokens, events } = view;
  if (!cache) return missing(view, "the cache lookup");
  const size = cache.block_size;
  const numPrompt = prompt ? numRead(view) : (prefill[0]?.total ?? 0);
  const numHit = cache.hits.filter(Boolean).length;
  /** Tokens of a partly full block, held by another of your requests that was running. */
  const numBesides = cache.num_cached_tokens - numHit * size;
  const from = prefill[0] ? prefill[0].at - prefill[0].step_us : cache.at;
  const end = prefill.at(-1)?.at ?? cache.at;
  const lines: Line[] = [
    line(
      `${view.forked ? `Its prompt and the answer it continues, ${counted(numPrompt, "token")}, fill` : `Its prompt of ${counted(numPrompt, "token")} fills`} ${counted(cache.hits.length, "block")} of ${size}${numPrompt % size ? ` and ${numPrompt % size} of another` : ""}.`,
      0,
      cache.at,
    ),
    line(
      numHit
        ? `${counted(numHit, "block")} of them ${numHit === 1 ? "was" : "were"} there already, from an earlier request that began with the same text${numBesides > 0 ? `, and ${counted(numBesides, "token")} of the next block, which a request with the same prompt was filling` : ""}.`
        : "None of them was there already: none of your recent requests began with the same text.",
      0,
      cache.at,
    ),
  ];
  if (cache.num_cached_tokens)
    lines.push(
      line(
        savedTime(cache) === null
          ? `So ${counted(cache.num_cached_tokens, "token")} need not be computed. The time saved is not known.`
          : `So ${counted(cache.num_cached_tokens, "token")} need not be computed, which saved ${savedTime(cache)}.`,
        cache.at,
        cache.at,
      ),
    );
  if (prefill.length)
    lines.push(
      line(
        `The other ${count(numPrompt - cache.num_cached_tokens)} ${numPrompt - cache.num_cached_tokens === 1 ? "was" : "were"} computed in ${duration(prefill.reduce((sum, { step_us }) => sum + step_us, 0))}.`,
        from,
        end,
      ),
    );
  const stored = events.flatMap(({ event }) => (event.type === "cache.stored" ? [event] : []));
  const evicted = events.flatMap(({ event }) => (event.type === "cache.evicted" ? [event] : []));
  const numStored = stored.reduce((all, { num_blocks }) => all + num_blocks, 0);
  const last = tokens.at(-1)?.at ?? end;
  if (evicted.length)
    lines.push(line("The cache was full, and evicted blocks to make room for it.", 0, evicted.at(-1)!.at));
  if (stored.length)
    lines.push(
      line(
        `The cache keeps ${counted(numStored, "new block")} for your next request in this conversation.`,
        stored[0]!.at,
        Math.max(last, stored.at(-1)!.at),
      ),
    );
  return lines;
};
