/** The breakpoints of a prompt: up to where the client wants it kept, and what the cache did with each. */
import type { CacheMark } from "../../protocol/events";
import { counted } from "../format";
import type { TraceView } from "../view";

export interface Breakpoint {
  mark: CacheMark;
  /** found: all whole blocks before it were in the cache. written: this request wrote the rest. */
  state: "found" | "written" | "short" | "waiting" | "not kept";
  sentence: string;
}

const KEPT = { "5m": "5 minutes", "1h": "1 hour" };

/** Empty where the client set none, and before the look-up. */
export function breakpointsOf(view: TraceView): Breakpoint[] {
  return (view.cache?.marks ?? []).map((mark) => breakpointOf(view, mark));
}

function breakpointOf(view: TraceView, mark: CacheMark): Breakpoint {
  const size = view.cache!.block_size;
  const whole = Math.floor(mark.num_tokens / size);
  const where = `After ${counted(mark.num_tokens, "token")}, for ${KEPT[mark.ttl]}`;
  const numFound = Math.min(whole, Math.floor(view.cache!.num_cached_tokens / size));
  const as = (state: Breakpoint["state"], what: string): Breakpoint => ({
    mark,
    state,
    sentence: `${where}: ${what}`,
  });
  if (whole === 0) return as("short", `too short to keep. The cache keeps whole blocks of ${size} tokens.`);
  if (numFound === whole)
    return as("found", `found. ${counted(whole * size, "token")} are read at the lower price.`);
  const found = numFound ? `${counted(numFound * size, "token")} were found, ` : "";
  const written = new Set(view.stored.flatMap(({ indices }) => indices ?? []));
  const numWritten = Array.from({ length: whole }, (_, index) => index).filter((index) =>
    written.has(index),
  ).length;
  if (numWritten)
    return as("written", `${found}${counted(numWritten * size, "token")} were written for later requests.`);
  if (view.tokens.length || view.finished) return as("not kept", `${found}nothing new was kept.`);
  return as("waiting", `${found}the rest is being read.`);
}
