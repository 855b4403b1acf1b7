/** The place at which two prompts part, and its effect on the prefix cache, in words. */
import type { Segment } from "../../protocol/events";
import { commonStart, diff, type Hunk } from "./diff";
import { comparable } from "./vocabulary";
import { count, counted } from "../format";
import { readingOf } from "../context/reading";
import { numKept, numRead, type TraceView } from "../view";

export interface ContextDiff {
  hunks: Hunk[];
  /** Tokens that both prompts begin with. */
  numCommon: number;
  isSame: boolean;
  /** The segments in which the first differing token stands; null: that prompt has ended before it. */
  a: Segment | null;
  b: Segment | null;
  /** The first block that holds a difference; null without one, or where the size of a block is not recorded. */
  block: number | null;
  blockSize: number | null;
}

/** Null: one of them has no prompt. */
export function contextDiff(a: TraceView, b: TraceView): ContextDiff | null {
  if (!a.prompt || !b.prompt) return null;
  const [left, right] = comparable([a, b], [a.prompt, b.prompt]) as [readonly number[], readonly number[]];
  const numCommon = commonStart(left, right);
  const isSame = numCommon === a.prompt.ids.length && numCommon === b.prompt.ids.length;
  const blockSize = a.cache?.block_size ?? b.cache?.block_size ?? null;
  return {
    hunks: diff(left, right),
    numCommon,
    isSame,
    a: segmentAt(a, numCommon),
    b: segmentAt(b, numCommon),
    block: isSame || !blockSize ? null : Math.floor(numCommon / blockSize),
    blockSize,
  };
}

export function segmentAt({ context }: TraceView, index: number): Segment | null {
  return context?.segments.find(({ start, end }) => index >= start && index < end) ?? null;
}

const KINDS: Record<Segment["kind"], string> = {
  system: "the system prompt",
  tools: "the tools",
  memory: "the memory",
  summary: "the summary",
  history: "the earlier turns",
  attachment: "an attachment",
  image: "a picture",
  user: "the new message",
  result: "a tool's result",
  template: "the template's own text",
};

export function segmentName(segment: Segment | null): string {
  return segment ? KINDS[segment.kind] : "the end of the prompt";
}

/** The place at which they part, in words. */
export function partingSentence(
  found: ContextDiff,
  a: TraceView,
  b: TraceView,
  names: [string, string],
): string {
  const kept = keptText([a, b], names);
  if (found.isSame) return `Both prompts are the same ${counted(found.numCommon, "token")}.${kept}`;
  const where = placeText(found, names);
  const { block, blockSize, numCommon } = found;
  const which =
    block === null
      ? ""
      : ` (block ${block + 1}, tokens ${block * blockSize! + 1} to ${(block + 1) * blockSize!})`;
  const same = numCommon ? `The first ${counted(numCommon, "token")} are the same. ` : "";
  const lengths = `${count(a.prompt!.ids.length)} and ${count(b.prompt!.ids.length)} tokens`;
  return `${same}The prompts (${lengths}) differ from token ${count(numCommon + 1)} on${which}, ${where}.${kept}`;
}

/** The answer that a fork read behind its prompt. */
function keptText(views: TraceView[], names: [string, string]): string {
  const told = views.map((view, index) =>
    numKept(view)
      ? ` ${names[index]} also read ${counted(numKept(view), "token")} of the answer that it continues.`
      : "",
  );
  return told.join("");
}

function placeText({ a, b }: ContextDiff, names: [string, string]): string {
  if (!a || !b)
    return `where ${names[a ? 1 : 0]} ends and ${names[a ? 0 : 1]} continues with ${segmentName(a ?? b)}`;
  const [inA, inB] = [segmentName(a), segmentName(b)];
  return inA === inB ? `in ${inA}` : `in ${inA} of ${names[0]} and ${inB} of ${names[1]}`;
}

/** The cache's effect on the later request, in words. */
export function cacheSentence(
  found: ContextDiff,
  a: TraceView,
  b: TraceView,
  names: [string, string],
): string {
  const isBLater = unixOf(b) >= unixOf(a);
  const [early, late] = isBLater ? [a, b] : [b, a];
  const [earlyName, lateName] = isBLater ? names : [names[1], names[0]];
  if (!late.cache || !late.generation?.is_cache_known)
    return `The trace does not record how much ${lateName}, the later one, took from the cache.`;
  const size = late.cache.block_size;
  const numHits = late.cache.hits.filter(Boolean).length;
  const numCommon = commonStart(leftBy(early, unixOf(late) + late.cache.at), readingOf(late)!.ids);
  // The last token is always computed, so a prompt's last full block is only found when something follows it.
  const numShared = Math.min(Math.floor(numCommon / size), Math.floor((numRead(late) - 1) / size));
  const isWhole = numCommon === numRead(late);
  const took = tookText(lateName, late, numHits);
  if (areOfDifferentUsers(early, late))
    return `The two requests are of different users, who share no cache. ${took}`;
  if (early.accepted?.model !== late.accepted?.model)
    return `The two requests are of different models, which share no cache. ${took}`;
  if (numHits > numShared)
    return `${took} At most ${blocks(numShared)} of them can come from ${earlyName}; another request left the rest.`;
  if (numHits === numShared) return `${sharedText(isWhole, numShared)} ${took}`;
  return `${sharedText(isWhole, numShared)} ${took} ${whyFewer(early, late, earlyName)}`;
}

/** False too where it is not known: a request by a key names the key, and not its user, whose cache it uses. */
function areOfDifferentUsers(a: TraceView, b: TraceView): boolean {
  const [one, other] = [a, b].map(({ gateway }) => gateway?.principal ?? "");
  return one !== other && [one, other].every((each) => each!.startsWith("user:"));
}

/** The ids whose keys and values a request had computed by then, once its prompt was: its newest token's come later. */
function leftBy(view: TraceView, unixUs: number): number[] {
  const written = view.tokens.filter(({ at }) => unixOf(view) + at <= unixUs).slice(0, -1);
  return [...readingOf(view)!.ids, ...written.map(({ id }) => id)];
}

/** isWhole: all that the later one read was there to be found. */
function sharedText(isWhole: boolean, numShared: number): string {
  if (isWhole) return `${blocks(numShared)} could be hits; the model always computes the last token.`;
  if (!numShared)
    return "A block is a hit only when it and all before it are equal. No whole block is equal: everything is a miss.";
  return `A block is a hit only when it and all before it are equal. ${blocks(numShared)} could be hits; all from block ${numShared + 1} on are misses.`;
}

function tookText(name: string, view: TraceView, numHits: number): string {
  const { cache } = view;
  const numComputed = numRead(view) - cache!.num_cached_tokens;
  if (!cache!.num_cached_tokens)
    return `${name} took nothing from the cache and computed all ${counted(numComputed, "token")}.`;
  return `${name} took ${counted(cache!.num_cached_tokens, "token")} (${blocks(numHits)}) and computed ${count(numComputed)}.`;
}

/** The known reasons why equal blocks were not found. */
function whyFewer(early: TraceView, late: TraceView, earlyName: string): string {
  const stored = early.tokens[0] && unixOf(early) + early.tokens[0].at;
  const looked = unixOf(late) + late.cache!.at;
  if (stored !== undefined && looked < stored)
    return `At its cache lookup, ${earlyName} had not yet computed its prompt.`;
  return `The cache had lost the blocks of ${earlyName}: it evicted them, or the worker had restarted.`;
}

function blocks(num: number): string {
  return counted(num, "block");
}

function unixOf({ accepted }: TraceView): number {
  return accepted?.accepted_unix_us ?? 0;
}
