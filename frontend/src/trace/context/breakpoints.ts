/** The breakpoints of a prompt: up to where the client wants it kept, and what the cache did with each. */
import type { CacheMark } from "../../protocol/events";
import { count, counted, money, roughly } from "../format";
import { missOf, segmentAt } from "./misses";
import type { TraceView } from "../view";

export interface Breakpoint {
  mark: CacheMark;
  /** found: all whole blocks before it were in the cache. written: this request wrote the rest. */
  state: "found" | "written" | "short" | "waiting" | "not kept";
  sentence: string;
  /** What its found part saved; empty where nothing was found, or before the bill. */
  saved: string;
  /** The reason why blocks before it were not found; empty where all were, or it is not known yet. */
  why: string;
}

const KEPT = { "5m": "5 minutes", "1h": "1 hour" };

/** Empty where the client set none, and before the look-up. */
export function breakpointsOf(view: TraceView): Breakpoint[] {
  const marks = [...(view.cache?.marks ?? [])].sort((one, other) => one.num_tokens - other.num_tokens);
  return marks.map((mark, index) => breakpointOf(view, mark, marks[index - 1]?.num_tokens ?? 0));
}

/** The figures are those of its own part, from the breakpoint before it on: so they add up. */
function breakpointOf(view: TraceView, mark: CacheMark, from: number): Breakpoint {
  const size = view.cache!.block_size;
  const [first, end] = [Math.floor(from / size), Math.floor(mark.num_tokens / size)];
  const whole = end - first;
  const since = from ? ` since token ${count(from)}` : "";
  const where = `After ${counted(mark.num_tokens, "token")}, for ${KEPT[mark.ttl]}`;
  const numFound = Math.max(0, Math.min(end, Math.floor(view.cache!.num_cached_tokens / size)) - first);
  const as = (state: Breakpoint["state"], what: string): Breakpoint => ({
    mark,
    state,
    sentence: `${where}: ${what}`,
    saved: savedWords(view, numFound * size),
    why: numFound < whole ? whyMissed(view, mark) : "",
  });
  if (whole === 0)
    return as(
      "short",
      `its part${since} is too short to keep. The cache keeps whole blocks of ${size} tokens.`,
    );
  if (numFound === whole)
    return as("found", `found. ${counted(whole * size, "token")}${since} are read at the lower price.`);
  const found = numFound ? `${counted(numFound * size, "token")}${since} were found, ` : "";
  const written = new Set(view.stored.flatMap(({ indices }) => indices ?? []));
  const numWritten = Array.from({ length: whole }, (_, index) => first + index).filter((index) =>
    written.has(index),
  ).length;
  const told = found ? "" : since;
  if (numWritten)
    return as(
      "written",
      `${found}${counted(numWritten * size, "token")}${told} were written for later requests.`,
    );
  if (view.tokens.length || view.finished) return as("not kept", `${found}nothing new was kept.`);
  return as("waiting", `${found}the rest is being read.`);
}

/** The price of the found tokens computed anew, minus that of reading them; and their part of the time saved. */
function savedWords({ cache, bill }: TraceView, numFound: number): string {
  if (!numFound || !bill) return "";
  const unit = (kind: string) => bill.lines.find((line) => line.kind === kind)?.unit_price_nano;
  const [full, read] = [unit("uncached_input"), unit("cache_read")];
  const nano = full === undefined || read === undefined ? null : numFound * (full - read);
  const part = Math.min(1, numFound / cache!.num_cached_tokens);
  const saved = [
    nano === null ? null : money(nano, bill.currency),
    cache!.saved_us ? `about ${roughly(cache!.saved_us * part)} of reading` : null,
  ].filter((each) => each !== null);
  return saved.length ? `Saved ${saved.join(" and ")}.` : "";
}

/** Names the first difference where it stands before the breakpoint, else the engine's reason. */
function whyMissed(view: TraceView, { num_tokens }: CacheMark): string {
  const { compared, cache } = view;
  const position = compared?.num_common_tokens ?? null;
  const isChanged = position !== null && position < num_tokens && position < compared!.num_prompt_tokens;
  if (isChanged) {
    const segment = segmentAt(view, position);
    return `Token ${count(position + 1)} differs from the turn before${segment ? `, in the ${segment.kind} segment` : ""}.`;
  }
  if (cache!.absence === "expired") return "Its blocks were kept, and their time to live ran out.";
  if (cache!.absence === "evicted") return "Its blocks were kept, and made room for others.";
  return missOf(view)?.sentence ?? "";
}
