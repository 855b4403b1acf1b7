/** The prompt's blocks: cached blocks light up, then each computed chunk sweeps across the rest. */
import type { CacheLookedUp } from "../../protocol/events";
import { joinedLabels } from "../../trace/bytes";
import { count, counted, duration } from "../../trace/format";
import { readingOf } from "../../trace/context/reading";
import { readings } from "../../trace/journey/scenes";
import type { TraceView } from "../../trace/view";
import { front, places, ribbon, type Ribbon } from "./ribbon";
import { box, line, part, text, type Area, type Ink, type Shape } from "./shapes";
import { fitted, lines, monoWidth, sansWidth } from "./words";
import { savedTime } from "../../trace/context/saved-time";

const TOP = 28;
const FOOT = 64;
/** Most blocks drawn with borders. Blocks of unknown size have none either. */
const MOST_BORDERS = 800;
/** Tokens of a block where no block size is reported. */
const UNKNOWN_BLOCK = 16;
const LEAST_PREVIEW = 60;
const PREVIEW_LINE = 16;
const PREVIEW_SIZE = 11;

export function cacheShapes(view: TraceView, area: Area, beat: number): Shape[] {
  const { cache, events, started } = view;
  const total = numPromptTokens(view);
  if (!total) return [];
  const on = ribbonOf(view, total, area);
  const isNow = events.at(-1)?.event.type === "cache.looked_up";
  const numLooked = cache ? (isNow ? part(beat, 0, 0.8) : 1) * cache.hits.length : 0;
  const unknown = started?.server
    ? `${started.server} does not report blocks`
    : "The cache lookup has not happened yet";
  const said = cache
    ? `${counted(cache.hits.length, "full block")} of ${cache.block_size} tokens, looked up in order`
    : unknown;
  return [
    text("said", area.x, area.y + 12, fitted(said, area.width, 12, sansWidth), { ink: "soft" }),
    ...borderShapes(view, on),
    ...(cache ? hitShapes(cache, on, numLooked) : []),
    ...previewShapes(view, on, 0, cache ? numLit(cache, numLooked, on) : 0),
    ...(cache ? legendShapes(cache, total, on, isNow ? part(beat, 0.7, 1) : 1) : []),
  ];
}

export function prefillShapes(view: TraceView, area: Area, beat: number): Shape[] {
  const chunks = readings(view);
  const total = chunks[0]?.total ?? numPromptTokens(view);
  if (!total) return [];
  const on = ribbonOf(view, total, area);
  const last = chunks.at(-1);
  const isNow = view.events.at(-1)?.event.type === "prefill.advanced";
  const swept = last ? last.start + (last.end - last.start) * (isNow ? part(beat, 0.05, 0.9) : 1) : 0;
  const numCached = view.cache?.num_cached_tokens ?? 0;
  const done = last
    ? `${count(Math.round(swept))} of ${counted(total, "token")} have keys and values`
    : "No step has run yet";
  const at = last && swept < last.end ? front(on, swept) : null;
  return [
    text("said", area.x, area.y + 12, fitted(done, area.width, 12, sansWidth), { ink: "soft" }),
    ...borderShapes(view, on),
    ...places(on, 0, numCached).map((place, index) =>
      box(`cached-${index}`, place, { fill: "prefill-pale", radius: 2 }),
    ),
    ...chunks.flatMap((chunk, index) =>
      places(on, chunk.start, chunk === last ? swept : chunk.end).map((place, row) =>
        box(`chunk-${index}-${row}`, place, { fill: "prefill", radius: 2, opacity: index % 2 ? 0.82 : 1 }),
      ),
    ),
    ...(at ? [line("front", [at.x, at.y - 4, at.x, at.y + at.height + 4], { ink: "ink", width: 2 })] : []),
    ...previewShapes(view, on, chunks[0]?.start ?? 0, swept, "ink"),
    ...stepShapes(view, on),
  ];
}

const numPromptTokens = ({ prompt, context, forked }: TraceView): number =>
  (prompt?.ids.length ?? context?.num_prompt_tokens ?? 0) + (forked?.ids.length ?? 0);

function ribbonOf({ cache }: TraceView, total: number, area: Area): Ribbon {
  const room = { ...area, y: area.y + TOP, height: Math.max(20, area.height - TOP - FOOT) };
  return ribbon(total, cache?.block_size ?? UNKNOWN_BLOCK, room);
}

const below = ({ area, numRows, rowHeight }: Ribbon): number => area.y + numRows * rowHeight + 18;

function borderShapes({ cache }: TraceView, on: Ribbon): Shape[] {
  const { numTokens, blockSize } = on;
  const num = Math.ceil(numTokens / blockSize);
  if (num > MOST_BORDERS || !cache)
    return places(on, 0, numTokens).map((place, index) => box(`row-${index}`, place, { stroke: "line" }));
  return Array.from({ length: num }, (_, index) => {
    const place = places(on, index * blockSize, (index + 1) * blockSize)[0]!;
    const isPartial = (index + 1) * blockSize > numTokens;
    return box(
      `block-${index}`,
      { ...place, width: place.width - 1.5 },
      { stroke: "faint", isDashed: isPartial, radius: 2 },
    );
  });
}

function hitShapes(cache: CacheLookedUp, on: Ribbon, numLooked: number): Shape[] {
  const { blockSize } = on;
  const numBlocks = Math.min(cache.hits.length, Math.ceil(numLooked));
  const lit = (key: string, start: number, end: number, opacity = 1) =>
    places(on, start, end).map((place, row) =>
      box(`${key}-${row}`, { ...place, width: place.width - 1.5 }, { fill: "prefill", radius: 2, opacity }),
    );
  // All hits come first. Part of the next block may come from a running request.
  const numHits = cache.hits.slice(0, numBlocks).filter(Boolean).length;
  const end = numLit(cache, numLooked, on);
  if (cache.hits.length > MOST_BORDERS) return lit("hits", 0, end);
  const shapes = Array.from({ length: numHits }, (_, index) =>
    lit(`hit-${index}`, index * blockSize, (index + 1) * blockSize, Math.min(1, numLooked - index)),
  ).flat();
  return [...shapes, ...lit("hit-partly", numHits * blockSize, end)];
}

/** Number of first tokens of the prompt that the lookup has found by now. */
function numLit(cache: CacheLookedUp, numLooked: number, { blockSize }: Ribbon): number {
  if (numLooked >= cache.hits.length) return cache.num_cached_tokens;
  return cache.hits.slice(0, Math.ceil(numLooked)).filter(Boolean).length * blockSize;
}

/** The beginning of each block's text, where it has room. Tokens from start to end are on the strong hue. */
function previewShapes(
  view: TraceView,
  on: Ribbon,
  start: number,
  end: number,
  beside: Ink = "soft",
): Shape[] {
  const { blockSize, rowHeight } = on;
  const reading = readingOf(view);
  if (!reading || blockSize * on.tokenWidth < LEAST_PREVIEW || rowHeight < 24) return [];
  const most = Math.max(1, Math.floor((rowHeight - 12) / PREVIEW_LINE));
  return Array.from({ length: Math.ceil(on.numTokens / blockSize) }, (_, index) => {
    const first = index * blockSize;
    const place = places(on, first, first + blockSize)[0]!;
    if (place.width < LEAST_PREVIEW) return [];
    const words = joinedLabels(reading.pieces.slice(first, first + blockSize)).replaceAll("·", " ");
    const hue = [start, end].map((at) => place.x + (at - first) * on.tokenWidth) as [number, number];
    return lines(words, place.width - 14, PREVIEW_SIZE, most, monoWidth).flatMap((each, row) =>
      inkedShapes(
        `preview-${index}-${row}`,
        place.x + 7,
        place.y + 17 + row * PREVIEW_LINE,
        each,
        hue,
        beside,
      ),
    );
  }).flat();
}

/** A line of mono text, in pieces of one ink each. The part between from and to is on the strong hue. */
function inkedShapes(
  key: string,
  x: number,
  y: number,
  words: string,
  [from, to]: [number, number],
  beside: Ink,
): Shape[] {
  const pieces: { x: number; words: string; isOnHue: boolean }[] = [];
  let at = x;
  for (const char of words) {
    const width = monoWidth(char, PREVIEW_SIZE);
    const isOnHue = at + width / 2 >= from && at + width / 2 < to;
    const last = pieces.at(-1);
    if (last?.isOnHue === isOnHue) last.words += char;
    else pieces.push({ x: at, words: char, isOnHue });
    at += width;
  }
  return pieces.map((piece, index) =>
    text(index ? `${key}-${index}` : key, piece.x, y, piece.words, {
      font: "mono",
      size: PREVIEW_SIZE,
      ink: piece.isOnHue ? "on-hue" : beside,
    }),
  );
}

function legendShapes(cache: CacheLookedUp, total: number, on: Ribbon, shown: number): Shape[] {
  const { area } = on;
  const y = below(on);
  const numLeft = total - cache.num_cached_tokens;
  const saved = savedTime(cache);
  const words = [
    `${counted(cache.num_cached_tokens, "token")} from the cache${saved ? `, saves ${saved}` : ""}`,
    `${counted(numLeft, "token")} to compute`,
  ];
  return words.flatMap((label, index) => [
    box(
      `legend-${index}`,
      { x: area.x, y: y + index * 20, width: 12, height: 12 },
      {
        fill: index ? undefined : "prefill",
        stroke: index ? "faint" : undefined,
        radius: 2,
        opacity: shown,
      },
    ),
    text(
      `legend-said-${index}`,
      area.x + 20,
      y + 10 + index * 20,
      fitted(label, area.width - 20, 12, sansWidth),
      { opacity: shown },
    ),
  ]);
}

/** The newest steps, each with the rest of its batch. */
function stepShapes(view: TraceView, on: Ribbon): Shape[] {
  const chunks = readings(view);
  const { area } = on;
  const y = below(on);
  return chunks.slice(-2).map((chunk, index) => {
    const others =
      chunk.num_sequences === null
        ? "other requests not reported"
        : chunk.num_sequences > 1
          ? `beside ${counted(chunk.num_sequences - 1, "other request")}`
          : "alone";
    const number = chunks.length - Math.min(2, chunks.length) + index + 1;
    const words = `Step ${number}: tokens ${count(chunk.start + 1)}–${count(chunk.end)} · ${duration(chunk.step_us)} · ${others}`;
    return text(`step-${number}`, area.x, y + 10 + index * 20, fitted(words, area.width, 12, sansWidth));
  });
}
