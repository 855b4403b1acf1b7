/** The answer as a ribbon of tokens that grows to the right. A taller token surprised the model more. */
import type { TokenSampled } from "../../protocol/events";
import { nameOf } from "../../trace/token-name";
import type { TraceView } from "../../trace/view";
import { surpriseOf } from "../../trace/sampling/surprise";
import { MOST_BITS } from "../strip";
import { box, text, type Area, type Ink, type Shape } from "./shapes";
import { fitted, monoWidth, sansWidth } from "./words";

/** Height of the whole ribbon, with its sentence, px. */
export const RIBBON_HEIGHT = 112;
const BARS = 62;
const LEAST_BAR = 3;
const SIZE = 11;
const LARGE = 18;
const GAP = 3;
/** Greatest width of a token, px. */
const MOST_WIDTH = 132;
const LEAST_WIDTH = 12;
/** Most tokens that ever have room. */
const MOST_TOKENS = 60;
/** Number of tokens shown after the current one, where they are known. */
const NUM_AHEAD = 4;

interface Place {
  token: TokenSampled;
  name: string;
  size: number;
  width: number;
  kind: "past" | "current" | "ahead";
}

/** Draw the ribbon. `ahead`: the tokens after those of the view, when the view shows a past moment. */
export function ribbonShapes(view: TraceView, area: Area, ahead: readonly TokenSampled[] = []): Shape[] {
  const current = view.tokens.at(-1);
  if (!current) return [];
  const placed = flow([
    ...view.tokens.slice(-MOST_TOKENS, -1).map((token) => placeOf(token, "past")),
    placeOf(current, "current"),
    ...ahead.slice(0, NUM_AHEAD).map((token) => placeOf(token, "ahead")),
  ]);
  const end = placed.find(({ kind }) => kind === "current")!;
  const last = placed.at(-1)!;
  // The tokens that follow never push the current one out of sight.
  const shift = Math.max(
    0,
    Math.min(last.x + last.width - area.width, Math.max(0, end.x + end.width - area.width * 0.6)),
    end.x + end.width - area.width,
  );
  const said = "A taller token surprised the model more.";
  return [
    ...placed
      .filter(({ x, width }) => x - shift > -1 && x - shift + width <= area.width + 1)
      .flatMap((place) => tokenShapes(place, area.x + place.x - shift, area.y)),
    text("ribbon-said", area.x, area.y + BARS + 40, fitted(said, area.width, 11, sansWidth), {
      size: 11,
      ink: "faint",
    }),
  ];
}

function placeOf(token: TokenSampled, kind: Place["kind"]): Place {
  const size = kind === "current" ? LARGE : SIZE;
  const name = fitted(nameOf(token), MOST_WIDTH, size);
  return { token, name, size, width: Math.max(LEAST_WIDTH, monoWidth(name, size) + 2), kind };
}

function flow(places: Place[]): (Place & { x: number })[] {
  let x = 0;
  return places.map((place) => {
    const at = x;
    x += place.width + GAP;
    return { ...place, x: at };
  });
}

function tokenShapes({ token, name, size, width, kind }: Place, x: number, y: number): Shape[] {
  const bits = surpriseOf(token);
  const height = bits === null ? BARS : Math.max(LEAST_BAR, Math.min(1, bits / MOST_BITS) * BARS);
  const key = `token-${token.position}`;
  return [
    box(
      `${key}-bar`,
      { x, y: y + BARS - height, width, height },
      {
        fill: bits === null ? "faint" : stepOf(bits, kind === "current"),
        isHatched: bits === null,
        radius: 2,
        opacity: kind === "ahead" ? 0.4 : 1,
      },
    ),
    text(`${key}-name`, x + 1, y + BARS + 18, name, {
      font: "mono",
      size,
      ink: kind === "current" ? "ink" : kind === "past" ? "soft" : "faint",
      isBold: kind === "current",
    }),
  ];
}

/** Bits at which the next stronger step begins. */
const EDGES = [0.5, 2, 4];

function stepOf(bits: number, isCurrent: boolean): Ink {
  if (isCurrent) return "step-5";
  return `step-${(EDGES.filter((edge) => bits > edge).length + 1) as 1 | 2 | 3 | 4}`;
}
