/** The ways from a part of the desk to other choices. Pure. */
import type { UsageReport } from "../../protocol/api";
import type { Choices, TableName } from "../address/address";

export interface Leads {
  /** The address under these choices in place of the present ones. */
  to: (changed: Partial<Choices>) => string;
  go: (changed: Partial<Choices>) => void;
  /** Show or hide a table. */
  toggle: (table: TableName) => void;
}

/** The address that shows only this group; null: no filter names it, or it is in force. */
export function groupHref(report: UsageReport, key: string, choices: Choices, { to }: Leads): string | null {
  const { by } = report;
  if (!key || choices[by] === key) return null;
  // Users of several groups are together in one, which no filter names.
  if (by === "group" && !report.user_groups.some((group) => group.key === key)) return null;
  return to({ [by]: key });
}
