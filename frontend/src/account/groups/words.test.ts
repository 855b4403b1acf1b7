import { expect, it } from "vitest";
import type { GroupLimits } from "../../protocol/api";
import { bothLimits, invitedText, offerText } from "./words";

const NOTHING = {
  max_open: null,
  requests_per_minute: null,
  input_tokens_per_minute: null,
  output_tokens_per_minute: null,
  tokens_per_day: null,
  daily_budget_nano: null,
  monthly_budget_nano: null,
};
const invited_at = "2026-03-01T12:00:00Z";

it("says what an invitation offers, and what it would end", () => {
  const given = {
    id: 1,
    group: "<i>lab</i>",
    role: "viewer",
    invited_by: "lina",
    invited_at,
    ends_work: true,
  } as const;
  expect(offerText(given)).toMatch(
    /^As a viewer by lina, Mar 1, .*: sees the group’s usage, and begins no work\. A user who is a viewer everywhere sends no requests\.$/,
  );
  expect(offerText({ ...given, ends_work: false, role: "owner", invited_by: null })).toMatch(
    /^As an owner, Mar 1, .*each person’s usage\.$/,
  );
});

it("names the inviter of an open invitation, unless the account is gone", () => {
  const given = { id: 1, name: "leo", role: "member", invited_by: "lina", invited_at } as const;
  expect(invitedText(given)).toMatch(/^invited as a member by lina, Mar 1, /);
  expect(invitedText({ ...given, invited_by: null })).toMatch(/^invited as a member, Mar 1, /);
});

it("shows the operators’ limit beside the owners’", () => {
  const limits: GroupLimits = {
    operators: { ...NOTHING, max_open: 8, daily_budget_nano: 2.5e9 },
    owners: { ...NOTHING, max_open: 4, requests_per_minute: 60 },
  };
  expect(bothLimits(limits)).toEqual([
    { name: "Requests at once", operators: "8", owners: "4" },
    { name: "Requests a minute", operators: "no limit", owners: "60" },
    { name: "Budget of a day", operators: "2.50", owners: "no limit" },
  ]);
  expect(bothLimits({ operators: NOTHING, owners: NOTHING })).toEqual([]);
});
