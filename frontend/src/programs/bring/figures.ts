/** What a brought prompt costs under a price table, and the words for its parts. Pure. */
import type {
  BroughtAnswer,
  BroughtBody,
  BroughtDifference,
  BroughtPart,
  PriceTable,
} from "../../protocol/api";
import type { Usage } from "../../protocol/events";
import { count, counted } from "../../trace/format";

export const APIS: Record<BroughtBody["kind"], string> = {
  chat: "OpenAI chat completions",
  completions: "OpenAI completions",
  responses: "OpenAI responses",
  messages: "Anthropic messages",
};

const KINDS = ["uncached_input", "cache_read", "cache_write_5m", "cache_write_1h", "output"] as const;

export const KIND_WORDS: Record<(typeof KINDS)[number], string> = {
  uncached_input: "computed",
  cache_read: "read from the cache",
  cache_write_5m: "written for 5 minutes",
  cache_write_1h: "written for 1 hour",
  output: "output",
};

/** One line of the price: what happens, its tokens and its cost. */
export interface PriceRow {
  name: string;
  tokens: string;
  /** Billionths of the currency's unit; null: unknown. */
  nano: number | null;
}

/** The cost of tokens under a table. */
export function costOf(usage: Usage, table: PriceTable): number {
  return KINDS.reduce((sum, kind) => sum + usage[kind] * table.unit_nano[kind], 0);
}

/** "16 computed, 48 read from the cache" */
export function usageText(usage: Usage): string {
  const told = KINDS.filter((kind) => usage[kind]).map((kind) => `${count(usage[kind])} ${KIND_WORDS[kind]}`);
  return told.join(", ") || "none";
}

/**
 * The prompt's cost where it comes first, after the turn before, and where it comes again. Its answer is not there yet.
 *
 * number: its place among the turns, from 1.
 */
export function promptRows(
  { prefix, num_tokens, difference }: BroughtBody,
  table: PriceTable,
  number = 1,
): PriceRow[] {
  const plain: Usage = {
    uncached_input: num_tokens,
    cache_read: 0,
    cache_write_5m: 0,
    cache_write_1h: 0,
    output: 0,
  };
  const row = (name: string, usage: Usage): PriceRow => ({
    name,
    tokens: usageText(usage),
    nano: costOf(usage, table),
  });
  const unknown = (name: string): PriceRow => ({ name, tokens: "unknown", nano: null });
  return [
    prefix ? row("Prompt, nothing cached", prefix.first) : row("Prompt, without a cache", plain),
    ...(difference?.usage
      ? [row(`Turn ${number} while turn ${number - 1} is still cached`, difference.usage)]
      : []),
    prefix ? row("The same prompt again, all still cached", prefix.again) : unknown("The same prompt again"),
    unknown("Answer"),
  ];
}

/** The answer's cost by the tokens that it tells. */
export function answerRows({ told }: BroughtAnswer, table: PriceTable): PriceRow[] {
  if (told.usage)
    return [{ name: "As told", tokens: usageText(told.usage), nano: costOf(told.usage, table) }];
  const known: [number | null, string][] = [
    [told.num_input, "of input"],
    [told.num_cache_read, "read from the cache"],
    [told.num_cache_write, "written to it"],
    [told.num_output, "of output"],
  ];
  const tokens = known.map(([num, what]) => `${num === null ? "unknown" : count(num)} ${what}`);
  return [{ name: "As told", tokens: tokens.join(", "), nano: null }];
}

export type PartChange = "" | "new" | "changed";

/** The change of each part since the turn before. */
export function changesOf({ parts, difference }: BroughtBody): PartChange[] {
  const [added, changed] = [
    new Set(difference?.added),
    new Set(difference?.changed.map(({ index }) => index)),
  ];
  return parts.map((_, index) => (added.has(index) ? "new" : changed.has(index) ? "changed" : ""));
}

/** "tool result · messages[3]" */
export function partName({ what, place, role }: BroughtPart): string {
  const name = what === "message" && role ? `${role}'s message` : what;
  return place ? `${name} · ${place}` : name;
}

/** The difference in one sentence. */
export function differenceText(found: BroughtDifference, { parts, num_tokens }: BroughtBody): string {
  const { num_common: common, num_before: before } = found;
  if (common === num_tokens && common === before) return "The prompt is the same as the one before.";
  const same =
    common === before
      ? `The prompt goes on after all ${counted(before, "token")} of the one before.`
      : `The first ${counted(common, "token")} are the same as before; ${count(before - common)} of the one before are not.`;
  const part = found.part === null ? null : parts[found.part];
  if (!part) return same;
  const first = `Token ${count(common + 1)} ${common === before ? "is the first new one" : "differs"}`;
  return `${same} ${first}, in: ${partName(part)}.`;
}
