/** The six figures of a report: each with its change, its line over the period, and a note. Pure. */
import type { UsageFigures, UsageReport } from "../../protocol/api";
import { count, counted, duration, money, percent } from "../../trace/format";
import { numDays } from "../address/period";
import { change, changeOfShare, changeOfTime, nanoOf, numErrors, numInput } from "./words";

export interface Figure {
  name: string;
  /** One per currency of an amount. */
  values: { text: string; change: string }[];
  line: (number | null)[];
  note: string;
}

/** The figures of each part of the chart, of all groups together. */
export function sums(report: UsageReport, value: (figures: UsageFigures) => number): number[] {
  return report.starts.map((_, part) =>
    report.groups.reduce((sum, { points }) => sum + value(points[part]!), 0),
  );
}

/** Currencies in which something was billed, now or before. The one with most requests is not known: by name. */
export function currenciesOf({ now, before }: UsageReport): string[] {
  return [...new Set([...now.cost, ...before.cost].map(({ currency }) => currency))].sort();
}

/** A user's own figures do not count users. */
export function figuresOf(report: UsageReport, currency: string, isOwn = false): Figure[] {
  return [
    cost(report, currency),
    requests(report, isOwn),
    saved(report, currency),
    firstToken(report),
    errors(report),
    held(report),
  ];
}

function amounts(report: UsageReport, kind: "cost" | "saved"): Figure["values"] {
  return currenciesOf(report).map((currency) => {
    const [now, before] = [nanoOf(report.now[kind], currency), nanoOf(report.before[kind], currency)];
    return { text: money(now, currency), change: change(now, before) };
  });
}

const UNBILLED = [{ text: "none", change: "" }];

function cost(report: UsageReport, currency: string): Figure {
  const values = amounts(report, "cost");
  const [isDay, nano] = [numDays(report) === 1, nanoOf(report.now.cost, currency)];
  const mean = nano / Math.max(1, isDay ? report.now.num_requests : numDays(report));
  const { num_unpriced } = report.now;
  const each = values.length ? `${money(mean, currency)} a ${isDay ? "request" : "day"}` : "";
  const unpriced = num_unpriced ? `${count(num_unpriced)} without a price` : "";
  return {
    name: "Cost",
    values: values.length ? values : num_unpriced ? [{ text: "unknown", change: "" }] : UNBILLED,
    line: sums(report, (figures) => nanoOf(figures.cost, currency)),
    note: [each, unpriced].filter(Boolean).join(", "),
  };
}

const roundly = (value: number) => value.toLocaleString("en-US", { maximumSignificantDigits: 2 });

function requests(report: UsageReport, isOwn: boolean): Figure {
  const { num_requests: now } = report.now;
  return {
    name: "Requests",
    values: [{ text: count(now), change: change(now, report.before.num_requests) }],
    line: sums(report, (figures) => figures.num_requests),
    note: isOwn ? `${roundly(now / numDays(report))} a day` : counted(report.num_users, "active user"),
  };
}

function saved(report: UsageReport, currency: string): Figure {
  const values = amounts(report, "saved");
  const input = numInput(report.now);
  const loss = nanoOf(report.now.saved, currency) < 0 ? "; writing it cost more" : "";
  return {
    name: "Saved by the cache",
    values: values.length ? values : UNBILLED,
    line: sums(report, (figures) => nanoOf(figures.saved, currency)),
    note: input ? `${percent(report.now.cache_read / input)} of input cached${loss}` : "no input",
  };
}

function firstToken({ speed }: UsageReport): Figure {
  const { now, before, points } = speed.first_token_us;
  return {
    name: "First token, p95",
    values: [
      now
        ? { text: duration(now.p95), change: before ? changeOfTime(now.p95, before.p95) : "new" }
        : { text: "unknown", change: "" },
    ],
    line: points.map((point) => point?.p95 ?? null),
    note: now ? `median ${duration(now.p50)}` : "no request had a first token",
  };
}

const rate = (num: number, { num_requests }: UsageFigures) => (num_requests ? num / num_requests : 0);

/** A rate is rarely near one: two digits that count. */
function rateText(share: number): string {
  return `${(share * 100).toLocaleString("en-US", { maximumSignificantDigits: 2 })}\u00a0%`;
}

function errors(report: UsageReport): Figure {
  const { now, before } = report;
  const [share, shareBefore] = [rate(numErrors(now), now), rate(numErrors(before), before)];
  return {
    name: "Errors and refusals",
    values: [
      {
        text: rateText(share),
        change: before.num_requests ? changeOfShare(share, shareBefore) : "new",
      },
    ],
    line: sums(report, numErrors),
    note: `${count(now.num_failed)} failed, ${count(now.num_refused)} refused`,
  };
}

function held(report: UsageReport): Figure {
  const { now, before, verdicts } = report;
  const flagged = verdicts.find(({ verdict }) => verdict === "flag");
  return {
    name: "Held back by safety",
    values: [{ text: count(now.num_held_back), change: change(now.num_held_back, before.num_held_back) }],
    line: sums(report, (figures) => figures.num_held_back),
    note: `${count(flagged?.num ?? 0)} flagged`,
  };
}
