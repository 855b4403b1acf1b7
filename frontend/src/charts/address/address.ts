/** The desk's choices as they stand in its address, and as the API asks for them. Pure. */
import type { AllUsageQuery } from "../../protocol/api";
import type { Scope } from "../../transport/api";
import { daysOf, isDay, isPeriodName, isZone, PERIODS, type Days, type PeriodName } from "./period";

export type By = NonNullable<AllUsageQuery["by"]>;
export const BYS: Record<By, string> = {
  model: "model",
  user: "user",
  group: "group",
  surface: "surface",
  status: "status",
};

export const MEASURES = {
  cost: "Cost",
  requests: "Requests",
  input: "Input tokens",
  cached: "Cached tokens",
  output: "Output tokens",
  errors: "Errors and refusals",
} as const;
export type Measure = keyof typeof MEASURES;

export const TIMES = {
  first_token_us: "to the first token",
  first_text_us: "to the first text",
  per_token_us: "per output token",
  queue_us: "in the queue",
} as const;
export type TimeName = keyof typeof TIMES;

/** Orders of the list of requests. */
export const ORDERS = {
  newest: "newest first",
  cost: "highest cost",
  first_token: "slowest first token",
  input: "longest input",
  output: "longest answer",
} as const;
export type Order = keyof typeof ORDERS;

/** The panels whose table can be opened. */
export const TABLES = ["use", "speed", "when", "users", "causes", "safety", "tokens"] as const;
export type TableName = (typeof TABLES)[number];

export const FILTERS = ["model", "surface", "status", "code", "verdict", "user", "group"] as const;
export type FilterName = (typeof FILTERS)[number];

/** A user's own usage has no other users and no groups to choose from; a group's has its members alone. */
const HIDDEN: Record<Scope["kind"], readonly (FilterName | By)[]> = {
  all: [],
  own: ["user", "group"],
  group: ["group"],
};
const hiddenIn = ({ kind, isSummed }: Scope): readonly (FilterName | By)[] =>
  isSummed ? [...HIDDEN[kind], "user"] : HIDDEN[kind];

export function filtersFor(scope: Scope): readonly FilterName[] {
  return FILTERS.filter((name) => !hiddenIn(scope).includes(name));
}

/** The columns by which the chart can be stacked. */
export function bysFor(scope: Scope): By[] {
  return (Object.keys(BYS) as By[]).filter((by) => !hiddenIn(scope).includes(by));
}

export interface Choices extends Record<FilterName, string> {
  period: PeriodName | Days;
  by: By;
  measure: Measure;
  /** Empty: the first that the report has. */
  currency: string;
  time: TimeName;
  order: Order;
  /** A weekday of the listed requests, from 0 for Monday; empty: every day. */
  weekday: string;
  /** An hour of the day of the listed requests, from 0 to 23; empty: every hour. */
  hour: string;
  /** IANA name; empty: the browser's. */
  zone: string;
  tables: readonly TableName[];
  /** The question of what the period would have cost, as `questionOf` reads it. Empty: the usual one. */
  whatIf: string;
}

export const USUAL: Choices = {
  period: "30d",
  by: "model",
  measure: "cost",
  currency: "",
  time: "first_token_us",
  order: "newest",
  weekday: "",
  hour: "",
  zone: "",
  model: "",
  surface: "",
  status: "",
  code: "",
  verdict: "",
  user: "",
  group: "",
  tables: [],
  whatIf: "",
};

/** The choices in an address. A text that means nothing is left out. */
export function choicesOf(query: string): Choices {
  const asked = new URLSearchParams(query);
  const text = (name: string) => asked.get(name) ?? "";
  const one = <Name extends string>(name: string, words: Record<Name, string>, usual: Name): Name =>
    Object.hasOwn(words, text(name)) ? (text(name) as Name) : usual;
  const [first, last, zone] = [text("first"), text("last"), text("zone")];
  const named = isPeriodName(text("period")) ? (text("period") as PeriodName) : USUAL.period;
  const opened = text("tables").split(",");
  return {
    period: isDay(first) && isDay(last) ? { first, last } : named,
    by: one("by", BYS, USUAL.by),
    measure: one("measure", MEASURES, USUAL.measure),
    currency: text("currency"),
    time: one("time", TIMES, USUAL.time),
    order: one("order", ORDERS, USUAL.order),
    weekday: /^[0-6]$/.test(text("weekday")) ? text("weekday") : "",
    hour: /^(1?\d|2[0-3])$/.test(text("hour")) ? text("hour") : "",
    zone: isZone(zone) ? zone : "",
    model: text("model"),
    surface: text("surface"),
    status: text("status"),
    code: text("code"),
    verdict: text("verdict"),
    user: /^\d+$/.test(text("user")) ? text("user") : "",
    group: text("group"),
    tables: TABLES.filter((name) => opened.includes(name)),
    whatIf: text("whatIf"),
  };
}

/** The part of an address's period that means nothing, with what is shown in its place. Empty: all of it holds. */
export function periodProblem(query: string): string {
  const asked = new URLSearchParams(query);
  const [first, last, period, zone] = ["first", "last", "period", "zone"].map((name) => asked.get(name));
  const found: string[] = [];
  if (first || last)
    for (const [day, name] of [
      [first, "first"],
      [last, "last"],
    ] as const) {
      if (!day) found.push(`The address has no ${name} day.`);
      else if (!isDay(day)) found.push(`“${day}” in the address is no day, such as 2026-10-24.`);
    }
  else if (period && !isPeriodName(period)) found.push(`“${period}” in the address is no period.`);
  const isPeriodLost = found.length > 0;
  if (zone && !isZone(zone)) found.push(`“${zone}” in the address is no time zone, such as Europe/Berlin.`);
  if (!found.length) return "";
  const shown = choicesOf(query).period;
  const instead = typeof shown === "string" ? PERIODS[shown] : "";
  if (isPeriodLost) found.push(`In place of it you see: ${instead}. Choose the period above.`);
  else found.push("You see the days of your own zone.");
  return found.join(" ");
}

/** The query of an address: only choices that differ from the usual ones, in one order. */
export function queryOf(choices: Choices): string {
  const { period, tables, ...others } = choices;
  const query = new URLSearchParams();
  if (typeof period !== "string") {
    query.set("first", period.first);
    query.set("last", period.last);
  } else if (period !== USUAL.period) query.set("period", period);
  for (const [name, text] of Object.entries(others))
    if (text !== USUAL[name as keyof typeof others]) query.set(name, text);
  if (tables.length) query.set("tables", tables.join(","));
  return query.toString();
}

/** True while a filter leaves requests out. */
export function isFiltered(choices: Choices): boolean {
  return FILTERS.some((name) => choices[name]);
}

export const UNFILTERED = Object.fromEntries(FILTERS.map((name) => [name, ""])) as Record<FilterName, string>;

/** The choices without those that the scope does not have. */
export function within(scope: Scope, choices: Choices): Choices {
  const by = bysFor(scope).includes(choices.by) ? choices.by : USUAL.by;
  const hidden = FILTERS.filter((name) => hiddenIn(scope).includes(name));
  return { ...choices, by, ...Object.fromEntries(hidden.map((name) => [name, ""])) };
}

/** The address of a scope's page, without its query. */
export function pathOf({ kind, group }: Scope): string {
  return { all: "/admin/", own: "/usage", group: `/usage/groups/${group}` }[kind];
}

/** The days that are asked for. */
export function daysAsked({ period }: Choices, today: string): Days {
  return typeof period === "string" ? daysOf(period, today) : period;
}

/** The query of the list of requests, which begins as the report's does. */
export function listQuery(asked: string, { order, weekday, hour }: Choices): string {
  const query = new URLSearchParams(asked);
  for (const [name, text] of Object.entries({ order, weekday, hour })) if (text) query.set(name, text);
  return query.toString();
}

/** The API's query. */
export function apiQuery(choices: Choices, today: string, zone: string): URLSearchParams {
  const { first, last } = daysAsked(choices, today);
  const query = new URLSearchParams({ first, last, zone, by: choices.by });
  for (const name of FILTERS) if (choices[name]) query.set(name, choices[name]);
  return query;
}
