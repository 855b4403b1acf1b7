import { expect, it } from "vitest";
import type { Key } from "../protocol/api";
import { momentText } from "../charts/moment";
import { expiryOf, scopeText, timesText } from "./keys";

const MADE = "2026-03-01T12:00:00Z";
const LATER = "2027-04-01T12:00:00Z";
const NO_LIMITS = {
  max_open: null,
  requests_per_minute: null,
  input_tokens_per_minute: null,
  output_tokens_per_minute: null,
  tokens_per_day: null,
  daily_budget_nano: null,
  monthly_budget_nano: null,
};
const key = (more: Partial<Key> = {}): Key => ({
  id: 1,
  name: "notebook",
  prefix: "sg-abcdefgh",
  models: [],
  features: [],
  state: "live",
  created_at: MADE,
  expires_at: null,
  revoked_at: null,
  last_used_at: null,
  limits: NO_LIMITS,
  ...more,
});

it("tells what a key may use", () => {
  expect(scopeText(key(), String)).toBe("all features · all models");
  const some = key({ features: ["chat", "read"], models: ["m"] });
  expect(scopeText(some, (id) => id.toUpperCase())).toBe("chat, read · M");
});

it("tells when a key was made, used and ends", () => {
  expect(timesText(key())).toBe("Made Mar 1, 2026 · not used yet · does not expire");
  expect(timesText(key({ last_used_at: LATER, expires_at: LATER }))).toBe(
    `Made Mar 1, 2026 · last used ${momentText(LATER)} · expires Apr 1, 2027`,
  );
  expect(timesText(key({ expires_at: LATER, state: "expired" }))).toContain("· expired Apr 1, 2027");
  const revoked = key({ expires_at: LATER, revoked_at: MADE, state: "revoked" });
  expect(timesText(revoked)).toBe("Made Mar 1, 2026 · not used yet · revoked Mar 1, 2026");
});

it("counts the expiry from now on", () => {
  expect(expiryOf(7, new Date("2026-03-01T12:00:00Z"))).toBe("2026-03-08T12:00:00.000Z");
  expect(expiryOf(0, new Date())).toBeNull();
});
