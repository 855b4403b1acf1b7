/** The figures of a recording's turns in words. Pure. */
import type { RecordedTurn } from "../../protocol/api";
import { count, counted, percent } from "../../trace/format";
import { inputOf } from "../../trace/usage";

/** As the server has it. */
const NAME = /^[a-z0-9][a-z0-9._-]{0,39}$/;

/** Why a recording cannot have this name; empty: it can. */
export function nameProblem(name: string): string {
  return NAME.test(name) ? "" : "1 to 40 characters: a to z, 0 to 9, and after the first one also . _ -";
}

/** The base address for each family's clients. */
export function addressesOf(origin: string, name: string): { openai: string; anthropic: string } {
  const anthropic = `${origin}/record/${name}`;
  return { openai: `${anthropic}/v1`, anthropic };
}

/** The share of the input that came from the cache. */
export function cachedText({ usage }: RecordedTurn): string {
  const num = usage ? inputOf(usage) : 0;
  return usage && num ? percent(usage.cache_read / num) : "unknown";
}

const WHERE = {
  system: "the system prompt",
  tools: "the tools",
  template: "the template's own text",
} as const;

/** The part with the first token that differs, as a reader finds it in the body. */
function whereText({ differs_at: at }: NonNullable<RecordedTurn["difference"]>): string {
  if (!at) return "";
  const place = at.source.startsWith("api:") ? ` (${at.source.slice(4)})` : "";
  const words = at.kind in WHERE ? WHERE[at.kind as keyof typeof WHERE] : `${at.role || "another"}'s message`;
  return `token ${count(at.position + 1)} differs, in ${words}${place}`;
}

/** The difference from the turn before, in a few words. */
export function differenceText({ number, status, difference }: RecordedTurn): string {
  if (!difference && (status === "queued" || status === "running")) return "compared when the turn ends";
  if (!difference) return number === 1 ? "the first turn" : "no earlier turn with a trace begins alike";
  const { num_added, num_changed, num_removed, num_common_tokens: same, num_prompt_tokens: num } = difference;
  const changes = [
    num_added ? `${counted(num_added, "new part")}` : "",
    num_changed ? `${count(num_changed)} changed` : "",
    num_removed ? `${count(num_removed)} gone` : "",
  ].filter(Boolean);
  const kept = `${counted(same, "token")} the same${num ? ` (${percent(same / num)})` : ""}`;
  // A turn that goes on after the whole of the one before differs nowhere: it has more.
  const where = num_changed || num_removed ? whereText(difference) : "";
  return [kept, where, changes.join(", ") || "no other parts"].filter(Boolean).join("; ");
}
