/** The safety policy as the page edits it, and the words for its effect. Pure. */
import type { PolicyEffect, PolicyThresholds, SavedPolicy } from "../../protocol/api";
import { count, counted } from "../../trace/format";

export const LAYERS = { input: "Messages", output: "Answers" } as const;
export const ACTIONS = { flag: "flagged from", block: "blocked from" } as const;
export type Layer = keyof typeof LAYERS;
export type Action = keyof typeof ACTIONS;
export type Verdict = "allow" | "flag" | "block";

const VERDICTS: Record<Verdict, string> = { allow: "allowed", flag: "flagged", block: "blocked" };

export const categoryText = (category: string): string => category.replaceAll("_", " ");

/** Categories that any layer has a threshold for, in the policy's order. */
export function categoriesOf({ input, output }: PolicyThresholds): string[] {
  return [...new Set([...Object.keys(input.flag), ...Object.keys(output.flag)])];
}

/** The policy with another threshold; null: the category is never blocked. */
export function withThreshold(
  policy: PolicyThresholds,
  layer: Layer,
  action: Action,
  category: string,
  value: number | null,
): PolicyThresholds {
  const found = structuredClone(policy);
  if (value === null) delete found[layer][action][category];
  else found[layer][action][category] = value;
  return found;
}

export const isSame = (one: PolicyThresholds, other: PolicyThresholds): boolean =>
  categoriesOf(one).join() === categoriesOf(other).join() &&
  (["input", "output"] as const).every((layer) =>
    (["flag", "block"] as const).every((action) =>
      categoriesOf(one).every((category) => one[layer][action][category] === other[layer][action][category]),
    ),
  );

/** "3 requests that were flagged would be blocked". */
export function changeText({ before, after, num }: PolicyEffect["changes"][number]): string {
  const were = num === 1 ? "is" : "are";
  return `${counted(num, "request")} that ${were} now ${VERDICTS[before]} would be ${VERDICTS[after]}`;
}

/** What was looked at, and what is not known. */
export function readText({ num_read, num_decisions, num_unknown }: PolicyEffect): string {
  if (!num_decisions) return "There is no saved decision yet.";
  const decisions = counted(num_decisions, "saved decision");
  const all = num_decisions === 1 ? `${decisions}.` : `All ${decisions}.`;
  const read = num_read < num_decisions ? `The newest ${count(num_read)} of ${decisions}.` : all;
  const unknown = num_unknown
    ? ` ${count(num_unknown)} ${num_unknown === 1 ? "is" : "are"} unknown: the recorded scores do not decide.`
    : "";
  return `${read}${unknown} Requests without a saved trace are not among them.`;
}

export function versionText({ label, author, saved_at }: SavedPolicy): string {
  if (!saved_at) return `${label}, of the policy file`;
  const at = new Date(saved_at).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  return `${label}, by ${author}, ${at}`;
}
