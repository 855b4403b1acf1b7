/** Words for what the product holds of a user. Pure. */
import type { HeldRows, UserData } from "../../protocol/api";
import { count } from "../../trace/format";

/** The kinds of rows that a person knows: one, several. */
const KINDS: Record<string, [one: string, several: string]> = {
  "chat.conversation": ["conversation", "conversations"],
  "chat.message": ["message", "messages"],
  "lifecycle.request": ["request", "requests"],
  "traces.trace": ["trace", "traces"],
  "traces.tag": ["tag", "tags"],
  "traces.share": ["shared link", "shared links"],
  "traces.savedview": ["saved view", "saved views"],
  "probes.probe": ["look into the model", "looks into the model"],
  "presets.preset": ["preset", "presets"],
  "reruns.rerun": ["set of runs", "sets of runs"],
  "accounts.session": ["sign-in", "sign-ins"],
  "keys.apikey": ["key", "keys"],
  "billing.ledgerentry": ["bill", "bills"],
  "usage.usagerecord": ["record of use", "records of use"],
};

/** "3 conversations, 12 messages"; rows of other kinds are counted together. */
export function heldText(rows: HeldRows[]): string {
  const known = Object.entries(KINDS).flatMap(([table, [one, several]]) => {
    const num = rows.find((row) => row.table === table)?.num ?? 0;
    return num ? [`${count(num)} ${num === 1 ? one : several}`] : [];
  });
  const others = rows.filter(({ table }) => !(table in KINDS)).reduce((sum, { num }) => sum + num, 0);
  if (others) known.push(`${count(others)} other ${others === 1 ? "row" : "rows"}`);
  return known.join(", ") || "nothing";
}

/** The state of an erasure, in a sentence; empty: none was begun. */
export function erasureText({ erasure, num_deleted }: UserData): string {
  const deleted = `${count(num_deleted)} ${num_deleted === 1 ? "row is" : "rows are"} deleted.`;
  switch (erasure) {
    case "stopping":
      return `The account is blocked. Its last requests end, then its data goes. ${deleted}`;
    case "searching":
      return `${deleted} For a minute, Sightglass still looks for late writes.`;
    case "done":
      return `Erased. ${deleted} The last search found nothing more.`;
    default:
      return "";
  }
}
