/**
 * One token's draw. The candidates' masses rise, and each logits processor removes some. The rest lines up end to end,
 * each mass keeping its length, and the draw u falls on one of them.
 */
import type { TokenSampled } from "../../protocol/events";
import { isAccepted } from "../../trace/drafts";
import { count, percent } from "../../trace/format";
import { DRAW_PARTS } from "../../trace/journey/pace";
import { nameOf, tokenName } from "../../trace/token-name";
import type { TraceView } from "../../trace/view";
import { CHAIN_ROW, chainPlaces, chainShapes } from "./chain";
import { massesOf, type Mass, type Masses } from "./masses";
import { box, line, mix, part, text, type Area, type Shape } from "./shapes";
import { fitted, monoWidth, sansWidth } from "./words";

const TOP = 48;
/** Least height, px, with the row of processors; and the candidates' top without that row. */
const [CHAIN_FROM, LEAST_TOP] = [260, 28];
/** Height of a candidate's row, and its least height where room is short, px. */
const [ROW, LEAST_ROW] = [30, 20];
const FOOT = 66;
const MOST_ROWS = 9;
/** Rows wanted, so that the likeliest rivals are visible. */
const WANTED_ROWS = 6;
const { risen: RISE, cut: STAGES, lined: LINED, drawn: DRAWN } = DRAW_PARTS;

interface Scales {
  /** Positions of mass 0 and mass 1. */
  left: number;
  width: number;
  right: number;
  top: number;
  barTop: number;
  row: number;
  /** Height of a bar, px. */
  bar: number;
  /** Type size of the names, px. */
  size: number;
}

/** Draw the token's draw. `isFast`: the rows stay in place, and only the bar below them lines up. */
export function samplingShapes(view: TraceView, area: Area, wholeBeat: number, isFast = false): Shape[] {
  return shapesOf(view, area, wholeBeat, isFast).map((shape) => ({ ...shape, key: `draw-${shape.key}` }));
}

function shapesOf(view: TraceView, area: Area, wholeBeat: number, isFast: boolean): Shape[] {
  const token = view.tokens.at(-1);
  if (!token || !view.accepted) return [];
  const beat = view.events.at(-1)?.event === token ? wholeBeat : 1;
  const header = headerShapes(view, token, area, part(beat, DRAWN, 1));
  if (!token.candidate_ids.length) return [...header, ...unknownShapes(token, area)];
  const { params } = view.accepted;
  const places = area.height < CHAIN_FROM ? [] : chainPlaces(massesOf(token, params, 1), params, area);
  const top = area.y + (places.length ? TOP + places.at(-1)!.row * CHAIN_ROW : LEAST_TOP);
  const room = area.y + area.height - FOOT - top;
  const row = Math.min(ROW, Math.max(LEAST_ROW, Math.floor(room / WANTED_ROWS)));
  const numRows = Math.max(2, Math.min(MOST_ROWS, Math.floor(room / row)));
  const masses = massesOf(token, params, numRows - 1);
  const on = scalesOf(area, top, masses.rows.length + 1, row);
  return [
    ...header,
    ...chainShapes(places, area, beat < STAGES ? Math.ceil(stepAt(masses, beat) - 1e-6) : null),
    ...masses.rows.flatMap((row, order) => rowShapes(view, row, order, masses, on, beat, isFast)),
    ...othersShapes(masses, on, beat, isFast),
    ...cumulativeShapes(masses, on, beat),
    ...drawLine(masses, token, on, beat),
  ];
}

function scalesOf({ x, width }: Area, top: number, numRows: number, row: number): Scales {
  const label = Math.min(150, width * 0.27);
  const figure = Math.min(72, width * 0.17);
  return {
    left: x + label,
    width: Math.max(1, width - label - figure),
    right: x + width,
    top,
    barTop: top + numRows * row + 12,
    row,
    bar: Math.round(row * 0.62),
    size: row >= 26 ? 14 : 12,
  };
}

function headerShapes(view: TraceView, token: TokenSampled, area: Area, shown: number): Shape[] {
  const guessed = isAccepted(view.drafts, token.position) ? ", guessed ahead and confirmed" : "";
  const name = fitted(nameOf(token), area.width * 0.4, 15);
  const right = area.x + area.width;
  const said = fitted(`Token ${count(token.position + 1)}${guessed}`, area.width * 0.55, 12, sansWidth);
  const wide = monoWidth(name, 15) + 14;
  return [
    text("said", area.x, area.y + 12, said, { ink: "soft" }),
    box(
      "chosen-ground",
      { x: right - wide, y: area.y - 4, width: wide, height: 24 },
      { fill: "sampling-pale", radius: 4, opacity: shown },
    ),
    text("chosen", right - 7, area.y + 13, name, {
      font: "mono",
      size: 15,
      anchor: "end",
      isBold: true,
      opacity: shown,
    }),
  ];
}

function unknownShapes(token: TokenSampled, area: Area): Shape[] {
  const said = token.is_shown
    ? "This server does not report its candidates."
    : "The server showed only this token's text.";
  return [
    text("unknown", area.x, area.y + TOP, fitted(said, area.width, 13, sansWidth), { size: 13, ink: "soft" }),
  ];
}

/** The step shown between the model and the draw, as a number with a fraction of the next step. */
const stepAt = (masses: Masses, beat: number): number => stepAtOf(masses.steps.length, beat);

function stepAtOf(numSteps: number, beat: number): number {
  const share = Math.min(1, Math.max(0, (beat - RISE) / (STAGES - RISE)));
  const raw = share * (numSteps - 1);
  return Math.floor(raw) + part(raw % 1, 0.15, 0.85);
}

/** The bar's mass at this moment, and its start, which is 0 until the bar is lined up. */
function placeOf(
  { shares, interval }: Mass,
  masses: Masses,
  beat: number,
  isFast: boolean,
): { low: number; mass: number } {
  const step = stepAt(masses, beat);
  const [from, to] = [shares[Math.floor(step)]!, shares[Math.min(shares.length - 1, Math.floor(step) + 1)]!];
  const mass = mix(from, to, step % 1) * part(beat, 0, RISE);
  if (!interval) return { low: 0, mass };
  const lined = part(beat, STAGES, LINED);
  return {
    low: isFast ? 0 : interval.low * lined,
    mass: mix(mass, interval.high - interval.low, lined),
  };
}

function rowShapes(
  view: TraceView,
  row: Mass,
  order: number,
  masses: Masses,
  on: Scales,
  beat: number,
  isFast: boolean,
): Shape[] {
  const token = view.tokens.at(-1)!;
  const { low, mass } = placeOf(row, masses, beat, isFast);
  const y = on.top + order * on.row;
  const key = `row-${order}`;
  const isGone =
    masses.isDrawKnown &&
    row.shares.at(-1) === 0 &&
    stepAt(masses, beat) > row.shares.findIndex((share) => share === 0) - 0.5;
  const isHit = row.isDrawn && beat >= DRAWN;
  const label = tokenName(view, row.id, token.candidate_pieces[row.index] ?? "", token);
  const known = row.shares[0]!;
  return [
    ...(isHit
      ? [
          box(
            `${key}-wash`,
            { x: on.left - 4, y: y - 1, width: on.right - on.left + 4, height: on.row - 2 },
            { fill: "wash", radius: 3 },
          ),
        ]
      : []),
    text(`${key}-label`, on.left - 8, y + on.row / 2 + 4, fitted(label, on.left - 8, on.size), {
      font: "mono",
      size: on.size,
      anchor: "end",
      ink: isGone ? "faint" : "ink",
      isStruck: isGone,
      isBold: isHit,
    }),
    box(
      `${key}-model`,
      { x: on.left, y: y + (on.row - on.bar) / 2, width: on.width * known, height: on.bar },
      { stroke: "line", opacity: part(beat, 0, RISE) },
    ),
    box(
      `${key}-mass`,
      { x: on.left + on.width * low, y: y + (on.row - on.bar) / 2, width: on.width * mass, height: on.bar },
      { fill: isHit ? "accent" : "step-3" },
    ),
    text(
      `${key}-figure`,
      on.right,
      y + on.row / 2 + 4,
      isGone ? "out" : percent(row.shares[Math.round(stepAt(masses, beat))]!),
      {
        font: "mono",
        size: on.size - 2,
        anchor: "end",
        ink: isGone ? "faint" : "soft",
      },
    ),
  ];
}

/** The candidates without a row, as one row. */
function othersShapes({ others, rest, rows }: Masses, on: Scales, beat: number, isFast: boolean): Shape[] {
  const y = on.top + rows.length * on.row;
  const step = stepAtOf(others.length, beat);
  const mass = mix(
    others[Math.floor(step)]!,
    others[Math.min(others.length - 1, Math.floor(step) + 1)]!,
    step % 1,
  );
  const lined = part(beat, STAGES, LINED);
  const shown = mass * part(beat, 0, RISE);
  const bars =
    !isFast && lined > 0 && rest.length
      ? rest.map(({ low, high }) => ({ low: low * lined, mass: high - low }))
      : [{ low: 0, mass: shown }];
  return [
    text("others-label", on.left - 8, y + on.row / 2 + 4, "all others", { ink: "faint", anchor: "end" }),
    ...bars.map(({ low, mass: long }, index) =>
      box(
        `others-${index}`,
        { x: on.left + on.width * low, y: y + (on.row - on.bar) / 2, width: on.width * long, height: on.bar },
        {
          fill: "faint",
          isHatched: true,
        },
      ),
    ),
    text("others-figure", on.right, y + on.row / 2 + 4, percent(others[Math.round(step)]!), {
      font: "mono",
      size: 11,
      anchor: "end",
      ink: "faint",
    }),
  ];
}

/** The surviving candidates end to end, from 0 to 1. */
function cumulativeShapes(masses: Masses, on: Scales, beat: number): Shape[] {
  if (!masses.isDrawKnown)
    return [
      text(
        "no-draw",
        on.left,
        on.barTop + 12,
        fitted("This server does not report the draw.", on.right - on.left, 12, sansWidth),
        { ink: "faint" },
      ),
    ];
  const lined = part(beat, STAGES, LINED);
  const ground = { x: on.left, y: on.barTop, width: on.width, height: on.bar };
  const toX = (share: number) => on.left + on.width * share;
  return [
    text("sum-label", on.left - 8, on.barTop + 11, "in a row", { ink: "faint", anchor: "end" }),
    box("sum", ground, { stroke: "faint" }),
    ...masses.rest.map(({ low, high }, index) =>
      box(
        `rest-${index}`,
        { ...ground, x: toX(low), width: on.width * (high - low) },
        { fill: "faint", isHatched: true, opacity: lined },
      ),
    ),
    ...masses.rows.flatMap(({ interval, isDrawn }, order) =>
      interval
        ? [
            box(
              `part-${order}`,
              { ...ground, x: toX(interval.low), width: on.width * (interval.high - interval.low) - 1 },
              {
                fill: isDrawn && beat >= DRAWN ? "accent" : order % 2 ? "step-2" : "step-3",
                opacity: lined,
              },
            ),
          ]
        : [],
    ),
    ...[0, 1].map((share) =>
      text(`tick-${share}`, toX(share), on.barTop + on.bar + 14, String(share), {
        font: "mono",
        size: 11,
        ink: "faint",
        anchor: share === 0 ? undefined : "end",
      }),
    ),
  ];
}

/** The draw u, which falls through the lined-up masses onto the drawn one. */
function drawLine(masses: Masses, token: TokenSampled, on: Scales, beat: number): Shape[] {
  if (token.u === null || !masses.isDrawKnown) return [];
  const fall = part(beat, LINED, DRAWN);
  if (fall === 0) return [];
  const x = on.left + on.width * token.u;
  const end = mix(on.top, on.barTop + on.bar + 4, fall);
  const isRight = token.u > 0.6;
  return [
    line("u", [x, on.top, x, end], { ink: "ink", width: 1.5 }),
    text("u-said", x + (isRight ? -5 : 5), on.barTop + on.bar + 26, `draw ${token.u.toFixed(4)}`, {
      font: "mono",
      size: 11,
      anchor: isRight ? "end" : undefined,
      opacity: fall,
    }),
  ];
}
