/** Keys in the words of the person who has them. Pure. */
import type { Key } from "../protocol/api";
import { momentText } from "../charts/moment";

export type Feature = Key["features"][number];

export const FEATURES: Record<Feature, { name: string; about: string }> = {
  chat: { name: "Chat", about: "Conversations, messages and their requests." },
  completions: { name: "Completions", about: "Texts that go on from a prompt." },
  embeddings: { name: "Embeddings", about: "Texts as lists of numbers." },
  batches: { name: "Batches", about: "Many requests in a file." },
  read: { name: "Read", about: "Whatever only reads." },
};

/** Days until a new key expires; 0: never. */
export const LIFETIMES: [days: number, name: string][] = [
  [7, "7 days"],
  [30, "30 days"],
  [90, "90 days"],
  [365, "1 year"],
  [0, "never"],
];

/** The moment after so many days, as the server reads it; null: never. */
export function expiryOf(days: number, now: Date): string | null {
  return days ? new Date(now.getTime() + days * 86_400_000).toISOString() : null;
}

/** What the key may use. */
export function scopeText(
  { features, models }: Pick<Key, "features" | "models">,
  nameOf: (id: string) => string,
) {
  const some = features.map((each) => FEATURES[each].name.toLowerCase()).join(", ");
  return `${some || "all features"} · ${models.map(nameOf).join(", ") || "all models"}`;
}

/** The day in the browser's own zone: "Oct 24, 2026". */
export function dayText(at: string): string {
  const form: Intl.DateTimeFormatOptions = { year: "numeric", month: "short", day: "numeric" };
  return new Intl.DateTimeFormat("en-US", form).format(new Date(at));
}

/** Its times, below its name. */
export function timesText({ created_at, last_used_at, expires_at, revoked_at, state }: Key): string {
  const used = last_used_at === null ? "not used yet" : `last used ${momentText(last_used_at)}`;
  return `Made ${dayText(created_at)} · ${used} · ${endText(state, revoked_at ?? expires_at)}`;
}

function endText(state: Key["state"], at: string | null): string {
  if (at === null) return "does not expire";
  return `${state === "live" ? "expires" : state} ${dayText(at)}`;
}
