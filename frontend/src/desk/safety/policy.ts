/** The safety policy as the page edits it, and the words for its effect. Pure. */
import type { PolicyEffect, PolicyThresholds, SavedPolicy } from "../../protocol/api";
import { count, counted } from "../../trace/format";

export const LAYERS = { input: "Messages", tool_result: "Tool results", output: "Answers" } as const;
export const ACTIONS = { flag: "flagged from", rewrite: "rewritten from", block: "blocked from" } as const;
export type Layer = keyof typeof LAYERS;
export type Action = keyof typeof ACTIONS;
const layers = Object.keys(LAYERS) as Layer[];
const actions = Object.keys(ACTIONS) as Action[];
export type Verdict = "allow" | "flag" | "rewrite" | "block";
/** A group's threshold that no score reaches. */
export const NEVER = 2;

const VERDICTS: Record<Verdict, string> = {
  allow: "allowed",
  flag: "flagged",
  rewrite: "rewritten",
  block: "blocked",
};
const NAMES: Record<string, string> = { pii: "personal data", secret: "passwords and keys" };
/** Only their place in the text is known, so that it can be rewritten. They are found or not: score 1 or 0. */
const FOUND = new Set(["pii", "secret"]);

export const categoryText = (category: string): string => NAMES[category] ?? category.replaceAll("_", " ");

/** True: the category may lead to the action. replaceable: those with a text in place of a blocked one. */
export const isPossible = (action: Action, category: string, replaceable: readonly string[]): boolean =>
  action === "flag" || (action === "rewrite" ? FOUND.has(category) : replaceable.includes(category));

/** Categories that any layer has a threshold for, in the policy's order. */
export function categoriesOf(policy: PolicyThresholds): string[] {
  return [...new Set(layers.flatMap((layer) => Object.keys(policy[layer].flag)))];
}

/** The thresholds that hold for a group's members; "": for all others. */
export function ofGroup(policy: PolicyThresholds, group: string): PolicyThresholds {
  const own = policy.groups[group];
  if (!own) return policy;
  const found = structuredClone(policy);
  for (const layer of layers)
    for (const action of actions) {
      Object.assign(found[layer][action], own[layer][action]);
      for (const [category, value] of Object.entries(found[layer][action]))
        if (value === NEVER) delete found[layer][action][category];
    }
  return found;
}

/** The policy with another threshold for a group's members; null: never. Equal to all others': the group has none. */
export function withGroupThreshold(
  policy: PolicyThresholds,
  group: string,
  layer: Layer,
  action: Action,
  category: string,
  value: number | null,
): PolicyThresholds {
  const found = structuredClone(policy);
  const own = (found.groups[group] ??= noOverride());
  if (value === (policy[layer][action][category] ?? null)) delete own[layer][action][category];
  else own[layer][action][category] = value ?? NEVER;
  const isEmpty = layers.every((each) => actions.every((name) => !Object.keys(own[each][name]).length));
  if (isEmpty) delete found.groups[group];
  return found;
}

const none = () => ({ flag: {}, rewrite: {}, block: {} });
const noOverride = () => ({ input: none(), tool_result: none(), output: none() });

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
  layers.every((layer) =>
    actions.every((action) =>
      categoriesOf(one).every((category) => one[layer][action][category] === other[layer][action][category]),
    ),
  ) &&
  JSON.stringify(one.groups) === JSON.stringify(other.groups);

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
