/** Roles, invitations and limits of a group in words. Pure. */
import type { GroupLimits, InvitedPerson, OwnInvitation } from "../../protocol/api";
import type { Role } from "../../transport/groups";
import { AMOUNTS, valueText, type AmountName } from "../limits/amounts";
import { momentText } from "../../charts/moment";

/** Each role with what it may do, in the order of the list of people. */
export const ROLES: Record<Role, string> = {
  owner: "manages the people, sets limits, sees each person’s usage",
  member: "sends requests on the group’s limits, sees the group’s usage",
  viewer: "sees the group’s usage, and begins no work",
};
export const ROLE_NAMES = Object.keys(ROLES) as Role[];

/** "an owner", "a member" or "a viewer". */
export const aRole = (role: Role): string => (role === "owner" ? "an owner" : `a ${role}`);

export function invitedText({ role, invited_by, invited_at }: InvitedPerson): string {
  const by = invited_by === null ? "" : ` by ${invited_by}`;
  return `invited as ${aRole(role)}${by}, ${momentText(invited_at)}`;
}

/** What an invitation offers, and what accepting it would end. */
export function offerText({ role, invited_by, invited_at, ends_work }: OwnInvitation): string {
  const by = invited_by === null ? "" : ` by ${invited_by}`;
  const end = ends_work ? " A user who is a viewer everywhere sends no requests." : "";
  return `As ${aRole(role)}${by}, ${momentText(invited_at)}: ${ROLES[role]}.${end}`;
}

interface BothLimits {
  name: string;
  operators: string;
  owners: string;
}

/** Each limit that operators or owners set. The lower of the two decides. */
export function bothLimits({ operators, owners }: GroupLimits): BothLimits[] {
  return (Object.keys(AMOUNTS) as AmountName[])
    .filter((name) => operators[name] !== null || owners[name] !== null)
    .map((name) => ({
      name: AMOUNTS[name].name,
      operators: valueText(operators[name], name),
      owners: valueText(owners[name], name),
    }));
}
