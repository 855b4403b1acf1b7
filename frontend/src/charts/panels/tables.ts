/** The report's figures as tables: one beside each chart, and one of everything. Pure. */
import type { Percentiles, UsageFigures, UsageReport } from "../../protocol/api";
import { count, duration, money } from "../../trace/format";
import { fullName } from "../../ui/model-names";
import { MEASURES, TIMES, type By, type Measure, type TimeName } from "../address/address";
import { byUnit, fullNames } from "../address/parts";
import { currenciesOf, sums } from "../figures/figures";
import {
  causeText,
  measureText,
  nanoOf,
  numInput,
  shareText,
  STATUSES,
  SURFACES,
  valueOf,
  VERDICTS,
  WEEKDAYS,
} from "../figures/words";
import { amount, quantity, type Cell, type Table } from "../tables/table";

const number = (name: string) => ({ name, isNumber: true });
const whole = (value: number) => quantity(value, count);

/** A group's name: statuses and surfaces have words. */
export function groupLabel(by: By, { key, label }: { key: string; label: string }): string {
  if (by === "surface") return SURFACES[key] ?? label;
  return by === "status" ? (STATUSES[key] ?? label) : label;
}

/** The report with the names that users see of its models, each beside its id. */
export function namedModels(report: UsageReport, nameOf: (model: string) => string): UsageReport {
  const named = <Row extends { key: string; label: string }>(row: Row): Row =>
    row.key ? { ...row, label: fullName(row.key, nameOf) } : row;
  const groups = report.by === "model" ? report.groups.map(named) : report.groups;
  return { ...report, groups, models: report.models.map(named) };
}

function unitName({ unit }: UsageReport): string {
  return { hour: "Hour", day: "Day", month: "Month" }[unit];
}

export function useTable(report: UsageReport, measure: Measure, currency: string): Table {
  const text = measureText(measure, currency);
  const cell = (value: number): Cell => (measure === "cost" ? amount(value, text) : quantity(value, text));
  const before = report.points_before.map((figures) => valueOf(figures, measure, currency));
  const unit = measure === "cost" && currency ? ` (${currency})` : "";
  const totals = sums(report, (figures) => valueOf(figures, measure, currency));
  return {
    name: `${MEASURES[measure].toLowerCase()} ${byUnit(report)}`.replaceAll(" ", "-"),
    columns: [
      { name: unitName(report) },
      ...report.groups.map((group) => number(groupLabel(report.by, group))),
      number(`All${unit}`),
      number("Period before"),
    ],
    rows: fullNames(report).map((name, part) => [
      name,
      ...report.groups.map(({ points }) => cell(valueOf(points[part]!, measure, currency))),
      cell(totals[part]!),
      before[part] === undefined ? "" : cell(before[part]),
    ]),
  };
}

export function speedTable(report: UsageReport, time: TimeName): Table {
  const micros = (point: Percentiles | null, name: "p50" | "p95" | "p99") =>
    quantity(point && Math.round(point[name]), duration);
  const { points, now, before } = report.speed[time];
  const row = (name: string, point: Percentiles | null): Cell[] => [
    name,
    whole(point?.num ?? 0),
    micros(point, "p50"),
    micros(point, "p95"),
    micros(point, "p99"),
  ];
  return {
    name: `time-${TIMES[time].replaceAll(" ", "-")}`,
    columns: [
      { name: unitName(report) },
      number("Requests"),
      ...["p50", "p95", "p99"].map((name) => ({ ...number(name), inFile: `${name} (µs)` })),
    ],
    rows: [
      ...fullNames(report).map((name, part) => row(name, points[part] ?? null)),
      row("Whole period", now),
      row("Period before", before),
    ],
  };
}

export function heatTable({ heat }: UsageReport): Table {
  return {
    name: "requests-by-weekday-and-hour",
    columns: [{ name: "Weekday" }, ...Array.from({ length: 24 }, (_, hour) => number(`${hour} h`))],
    rows: heat.map((row, day) => [WEEKDAYS[day]!, ...row.map(whole)]),
  };
}

/** Columns of figures that every row of users or groups has. */
function figureColumns(currencies: string[]): Table["columns"] {
  return [
    "Requests",
    "Failed",
    "Refused",
    "Held back",
    "Input tokens",
    "Cached tokens",
    "Output tokens",
    "Without a price",
    ...currencies.flatMap((currency) => [`Cost ${currency}`, `Saved ${currency}`]),
  ].map(number);
}

function figureCells(figures: UsageFigures, currencies: string[]): Cell[] {
  const { num_requests, num_failed, num_refused, num_held_back, cache_read, output, num_unpriced } = figures;
  return [
    ...[num_requests, num_failed, num_refused, num_held_back, numInput(figures), cache_read, output].map(
      whole,
    ),
    whole(num_unpriced),
    ...currencies.flatMap((currency) =>
      [figures.cost, figures.saved].map((amounts) =>
        amount(nanoOf(amounts, currency), (nano) => money(nano, currency)),
      ),
    ),
  ];
}

export function usersTable(report: UsageReport): Table {
  const currencies = currenciesOf(report);
  return {
    name: "users",
    columns: [{ name: "User" }, ...figureColumns(currencies)],
    rows: report.leaders.map(({ name, now }) => [name, ...figureCells(now, currencies)]),
  };
}

export function causesTable(report: UsageReport): Table {
  return {
    name: "errors-and-refusals",
    columns: [{ name: "Cause" }, { name: "Outcome" }, number("Requests"), number("Period before")],
    rows: report.causes.map(({ status, code, num, num_before }) => [
      causeText(code),
      STATUSES[status] ?? status,
      whole(num),
      whole(num_before),
    ]),
  };
}

export function safetyTable(report: UsageReport): Table {
  return {
    name: "safety-verdicts",
    columns: [{ name: "Verdict" }, number("Requests"), number("Period before")],
    rows: report.verdicts.map(({ verdict, num, num_before }) => [
      VERDICTS[verdict] ?? verdict,
      whole(num),
      whole(num_before),
    ]),
  };
}

/** The kinds of tokens that were used, in the order of a prompt: from the cache, computed, written to it, the answer. */
export function kindsOf(figures: UsageFigures): { name: string; num: number }[] {
  return [
    { name: "Input, cached", num: figures.cache_read },
    { name: "Input, computed", num: figures.uncached_input },
    { name: "Input, kept 5 min", num: figures.cache_write_5m },
    { name: "Input, kept 1 h", num: figures.cache_write_1h },
    { name: "Output", num: figures.output },
  ];
}

export function tokensTable(report: UsageReport): Table {
  const before = kindsOf(report.before);
  const total = kindsOf(report.now).reduce((sum, { num }) => sum + num, 0);
  return {
    name: "tokens-by-kind",
    columns: [{ name: "Kind" }, number("Tokens"), { name: "Share" }, number("Period before")],
    rows: kindsOf(report.now).map(({ name, num }, kind) => [
      name,
      whole(num),
      shareText(num, total),
      whole(before[kind]!.num),
    ]),
  };
}

/** Every figure of every group and part, for a spreadsheet's pivot table. */
export function wholeTable(report: UsageReport): Table {
  const currencies = currenciesOf(report);
  return {
    name: `usage-${report.first}-${report.last}`,
    columns: [{ name: "Start" }, { name: report.by }, ...figureColumns(currencies)],
    rows: report.starts.flatMap((start, part) =>
      report.groups.map((group) => [
        start,
        groupLabel(report.by, group),
        ...figureCells(group.points[part]!, currencies),
      ]),
    ),
  };
}
