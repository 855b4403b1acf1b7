/** The context window to scale, with the prompt's segments one after the other, and the segments left out. */
import type { ContextAssembled, Segment } from "../../protocol/events";
import { count, counted } from "../../trace/format";
import type { TraceView } from "../../trace/view";
import { box, line, mix, part, text, turn, type Area, type Ink, type Shape } from "./shapes";
import { recalledShapes } from "./recalled";
import { fitted, lines, monoWidth, sansWidth } from "./words";

const BAR = 22;
const PACKED = 64;
const LINE = 17;
/** Least height of a segment's entry, px: its heading alone. Lines of its text are added where they fit. */
const LEAST_ENTRY = 22;
const MOST_LINES = 6;
const ENTRY_GAP = 12;
const SHADES: Partial<Record<Segment["kind"], Ink>> = { user: "context", template: "wash" };
const shadeOf = (kind: Segment["kind"]): Ink => SHADES[kind] ?? "context-pale";

export function contextShapes(view: TraceView, area: Area, beat: number): Shape[] {
  const { context, events } = view;
  if (!context) return view.recalled ? recalledShapes(view.recalled, area, beat) : [];
  const isNow = events.at(-1)?.event.type === "context.assembled";
  const shown = isNow ? beat : 1;
  const packed = { x: area.x, y: area.y + 96, width: area.width, height: PACKED };
  return [
    ...scaleShapes(context, area, part(shown, 0, 0.25), packed),
    ...packedShapes(context, packed, shown),
    ...listShapes(
      context,
      { ...area, y: packed.y + PACKED + 20, height: area.y + area.height - packed.y - PACKED - 20 },
      shown,
    ),
  ];
}

/** The whole window, and the prompt's place in it, which the bar below enlarges. */
function scaleShapes(context: ContextAssembled, area: Area, shown: number, packed: Area): Shape[] {
  const { window, reserved_output: reserved, num_prompt_tokens: num } = context;
  const y = area.y + 22;
  const toWidth = (tokens: number) => (area.width * tokens) / Math.max(1, window, num + reserved);
  const used = Math.max(1.5, toWidth(num));
  const end = area.x + area.width;
  const free = `${count(Math.max(0, window - num - reserved))} free`;
  return [
    text("window", area.x, area.y + 12, `The model's window: ${counted(window, "token")}`, { ink: "soft" }),
    box("all", { x: area.x, y, width: area.width, height: BAR }, { stroke: "faint" }),
    box(
      "reserved",
      { x: end - toWidth(reserved), y, width: toWidth(reserved), height: BAR },
      { isHatched: true, fill: "faint" },
    ),
    box("used", { x: area.x, y, width: used * shown, height: BAR }, { fill: "context" }),
    text("free", end, y + BAR + 15, `${free} · ${count(reserved)} kept for the answer`, {
      ink: "soft",
      size: 11,
      anchor: "end",
    }),
    line("lens-left", [area.x, y + BAR, packed.x, packed.y], { ink: "context", opacity: shown }),
    line(
      "lens-right",
      [
        area.x + used,
        y + BAR,
        mix(area.x + used, packed.x + packed.width, shown),
        mix(y + BAR, packed.y, shown),
      ],
      {
        ink: "context",
        opacity: shown,
      },
    ),
  ];
}

function packedShapes(
  { segments, num_prompt_tokens: num }: ContextAssembled,
  area: Area,
  beat: number,
): Shape[] {
  const packing = part(beat, 0.2, 0.25) ? (beat - 0.2) / 0.7 : 0;
  return segments.flatMap(({ start, end, kind }, index) => {
    const shown = turn(packing, index, segments.length);
    const x = area.x + (area.width * start) / Math.max(1, num);
    const width = Math.max(1, (area.width * (end - start)) / Math.max(1, num) - 1);
    const y = area.y - 26 * (1 - shown);
    return [
      box(
        `segment-${index}`,
        { x, y, width, height: area.height },
        {
          fill: shadeOf(kind),
          stroke: kind === "template" ? "line" : undefined,
          opacity: shown,
        },
      ),
      ...(sansWidth(kind, 12) + 8 <= width
        ? [nameShape(index, kind, x + width / 2, y + area.height / 2, shown)]
        : []),
    ];
  });
}

const nameShape = (index: number, kind: Segment["kind"], x: number, y: number, opacity: number): Shape =>
  text(`segment-${index}-name`, x, y + 4, kind, {
    anchor: "middle",
    opacity,
    ink: kind === "user" ? "on-hue" : "ink",
  });

interface Entry {
  key: string;
  index: number;
  kind: string;
  num: number;
  words: string;
  fill: Ink;
  isLeftOut: boolean;
}

/** Entries with each segment's kind, size and beginning. Of too many, the first and the last are shown. */
function listShapes(context: ContextAssembled, area: Area, beat: number): Shape[] {
  if (area.height < 2 * LEAST_ENTRY) return [];
  const entries = entriesOf(context);
  const room = Math.max(2, Math.floor(area.height / LEAST_ENTRY));
  const numLast = Math.ceil((room - 1) / 2);
  const isCut = entries.length > room;
  const listed = isCut
    ? [...entries.slice(0, room - 1 - numLast), null, ...entries.slice(-numLast)]
    : entries;
  const most = Math.max(0, Math.floor((area.height / Math.max(1, listed.length) - ENTRY_GAP - 22) / LINE));
  let y = area.y;
  return listed.flatMap((entry) => {
    const words = entry ? beginning(entry.words, area.width, most) : [];
    const place = { ...area, y };
    y += LEAST_ENTRY + (most ? words.length * LINE + ENTRY_GAP : 0);
    const shown = entry ? turn((beat - 0.2) / 0.7, entry.index, entries.length) : 0;
    if (entry) return entryShapes(entry, words, place, most === 0, shown);
    const hidden = `… ${count(entries.length - room + 1)} more between`;
    return [text("more", area.x + 20, place.y + 12, hidden, { ink: "faint", opacity: part(beat, 0.2, 0.9) })];
  });
}

/** The beginning of a segment in lines of its own; without room for them, one that fits beside its name. */
function beginning(words: string, width: number, most: number): string[] {
  if (most) return lines(words, width - 22, 12, Math.min(MOST_LINES, most), monoWidth);
  return [fitted(words.slice(0, 300).replaceAll("\n", "↵"), width - nameWidth(width) - 90, 12)];
}

const nameWidth = (width: number): number => Math.min(170, width * 0.42);

function entriesOf({ segments, dropped }: ContextAssembled): Entry[] {
  const kept = segments.map((segment, index) => ({
    key: `entry-${index}`,
    kind: segment.role && segment.role !== segment.kind ? `${segment.kind} · ${segment.role}` : segment.kind,
    num: segment.end - segment.start,
    words: segment.text,
    fill: shadeOf(segment.kind),
    isLeftOut: false,
  }));
  const left = dropped.map((each, index) => ({
    key: `dropped-${index}`,
    kind: `left out · ${each.kind}`,
    num: each.num_tokens,
    words: each.text,
    fill: "paper" as Ink,
    isLeftOut: true,
  }));
  return [...kept, ...left].map((entry, index) => ({ ...entry, index }));
}

function entryShapes(
  { key, kind, num, fill, isLeftOut }: Entry,
  words: string[],
  { x, y, width }: Area,
  isBeside: boolean,
  opacity: number,
): Shape[] {
  const figure = counted(num, "token");
  const [wordsX, wordsY] = isBeside ? [x + nameWidth(width), y + 12] : [x + 20, y + 28];
  return [
    box(`${key}-mark`, { x, y: y + 2, width: 12, height: 12 }, { fill, stroke: "line", opacity, radius: 2 }),
    text(`${key}-kind`, x + 20, y + 12, isBeside ? fitted(kind, nameWidth(width) - 28, 12) : kind, {
      opacity,
      isBold: true,
    }),
    text(`${key}-num`, x + width, y + 12, figure, {
      font: "mono",
      size: 11,
      ink: "soft",
      anchor: "end",
      opacity,
    }),
    ...words.map((each, index) =>
      text(`${key}-words-${index}`, wordsX, wordsY + index * LINE, each, {
        font: "mono",
        ink: isLeftOut ? "faint" : "soft",
        isStruck: isLeftOut,
        opacity,
      }),
    ),
  ];
}
