/** The shares by which the first of the leading users leads, from the recorded figures alone. Pure. */
import type { ModelUse, UsageFigures, UsageReport, UserModels } from "../../protocol/api";
import { nanoOf, shareText } from "../figures/words";

type Of = (figures: UsageFigures) => number;

const BEHIND: [name: string, of: Of][] = [
  ["the requests", (figures) => figures.num_requests],
  ["the uncached input", (figures) => figures.uncached_input],
  ["the cached input", (figures) => figures.cache_read],
  ["the input written to the cache", (figures) => figures.cache_write_5m + figures.cache_write_1h],
  ["the output", (figures) => figures.output],
];

/** The leader's share of the cost, and of the figures behind it, the largest first. Empty: no other user is there. */
export function leadingText(report: UsageReport, currency: string): string {
  const [leader] = report.leaders;
  if (!leader || report.num_users < 2) return "";
  const share = (of: Of) => {
    const before = of(report.before) ? ` (${shareText(of(leader.before), of(report.before))})` : "";
    return { size: of(leader.now) / of(report.now), text: shareText(of(leader.now), of(report.now)), before };
  };
  const cost: Of = (figures) => nanoOf(figures.cost, currency);
  const [name, of, others] = currency
    ? (["the cost", cost, BEHIND] as const)
    : (["the requests", BEHIND[0]![1], BEHIND.slice(1)] as const);
  if (!of(leader.now)) return "";
  const whole = share(of);
  const parts = others
    .filter(([, each]) => each(leader.now))
    .map(([what, each]) => ({ what, ...share(each) }))
    .sort((one, other) => other.size - one.size)
    .map(({ what, text, before }) => `${text} of ${what}${before}`);
  const had = parts.length ? ` Of all use, ${leader.name} had ${listed(parts)}.` : "";
  const note = whole.before ? " In brackets: the period before." : "";
  return `${leader.name} leads with ${whole.text} of ${name}${whole.before}.${had}${note}`;
}

/** The model that cost the leader most: its share of the leader's requests, beside all users'. Empty: there is one model. */
export function modelText(
  { own, all }: UserModels,
  currency: string,
  nameOf: (model: string) => string,
): string {
  const cost = ({ now }: ModelUse) => nanoOf(now.cost, currency);
  const most = [...own].sort((one, other) => cost(other) - cost(one))[0];
  if (!most || !cost(most) || all.length < 2) return "";
  const share = (uses: readonly ModelUse[], of: (use: ModelUse) => number) => {
    const sum = (some: readonly ModelUse[]) => some.reduce((whole, use) => whole + of(use), 0);
    return shareText(sum(uses.filter(({ model }) => model === most.model)), sum(uses));
  };
  const requests = ({ now }: ModelUse) => now.num_requests;
  return `${share(own, requests)} of this user's requests went to ${nameOf(most.model)}, and ${share(all, requests)} of all users'. It made ${share(own, cost)} of this user's cost, and ${share(all, cost)} of all users'.`;
}

function listed(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}
