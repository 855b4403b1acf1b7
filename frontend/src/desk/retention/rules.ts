/** The operator's retention rules as the page edits them. Pure. */
import type { RetentionPreview, SiteRetention, SiteRetentionChange } from "../../protocol/api";
import { count, counted } from "../../trace/format";

export const MAX_DAYS = 3650;

/** Days as typed: null where the field is empty, so that there is no rule. */
export interface Entered {
  days: number | null;
  groups: Record<string, number | null>;
}

export function enteredOf({ keep_days, groups }: SiteRetention): Entered {
  return { days: keep_days, groups: Object.fromEntries(groups.map((each) => [each.group, each.keep_days])) };
}

/** The rules to send; null: a field holds no number of days. */
export function changeOf({ days, groups }: Entered): SiteRetentionChange | null {
  const isRule = (each: number | null) =>
    each === null || (Number.isInteger(each) && each >= 1 && each <= MAX_DAYS);
  if (![days, ...Object.values(groups)].every(isRule)) return null;
  const set = Object.entries(groups).filter((pair): pair is [string, number] => pair[1] !== null);
  return { keep_days: days, groups: Object.fromEntries(set) };
}

/** What the rules would delete, in a sentence. */
export function previewText({ num_traces, num_users, num_pinned }: RetentionPreview, numAll: number): string {
  if (!num_traces) return `These rules would delete none of ${counted(numAll, "trace")} now.`;
  const pinned = num_pinned ? ` ${count(num_pinned)} of them ${num_pinned === 1 ? "is" : "are"} pinned.` : "";
  return `These rules would delete ${count(num_traces)} of ${counted(numAll, "trace")}, of ${counted(num_users, "user")}.${pinned}`;
}
