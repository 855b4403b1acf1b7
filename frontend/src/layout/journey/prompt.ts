/** The prompt's blocks: those that the cache has light up, then each chunk that is computed sweeps across the rest. */
import type { CacheLookedUp } from "../../protocol/events";
import { joinedLabels } from "../../trace/bytes";
import { count, counted, duration } from "../../trace/format";
import { readingOf } from "../../trace/reading";
import { readings } from "../../trace/scenes";
import type { TraceView } from "../../trace/view";
import { front, places, ribbon, type Ribbon } from "./ribbon";
import { box, line, part, text, type Area, type Shape } from "./shapes";
import { fitted, lines, monoWidth, sansWidth } from "./words";
import { savedTime } from "../../trace/saved-time";

const TOP = 28;
const FOOT = 64;
/** More blocks than these are drawn without their borders, as are those whose size is not reported. */
const MOST_BORDERS = 800;
/** What the rows are whole multiples of where no block size is reported. */
const UNKNOWN_BLOCK = 16;
const LEAST_PREVIEW = 60;
const PREVIEW_LINE = 16;

export function cacheShapes(view: TraceView, area: Area, beat: number): Shape[] {
  const { cache, events, started } = view;
  const total = numPromptTokens(view);
  if (!total) return [];
  const on = ribbonOf(view, total, area);
  const isNow = events.at(-1)?.event.type === "cache.looked_up";
  const numLooked = cache ? (isNow ? part(beat, 0, 0.8) : 1) * cache.hits.length : 0;
  const unknown = started?.server
    ? `${started.server} does not report blocks`
    : "The blocks have not been looked up yet";
  const said = cache
    ? `${counted(cache.hits.length, "full block")} of ${cache.block_size} tokens, looked up from the first on`
    : unknown;
  return [
    text("said", area.x, area.y + 12, fitted(said, area.width, 12, sansWidth), { ink: "soft" }),
    ...borderShapes(view, on),
    ...(cache ? hitShapes(cache, on, numLooked) : []),
    ...previewShapes(view, on, (index) => index < numLooked && Boolean(cache?.hits[index])),
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
    : "No step has been computed yet";
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
    ...previewShapes(
      view,
      on,
      (index) => swept >= Math.min(total, (index + 1) * on.blockSize) && index * on.blockSize >= numCached,
    ),
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
  // A hit follows only hits, and more of the prompt may come from the last block of a request that runs.
  const numHits = cache.hits.slice(0, numBlocks).filter(Boolean).length;
  const isAll = numLooked >= cache.hits.length;
  const end = isAll ? cache.num_cached_tokens : numHits * blockSize;
  if (cache.hits.length > MOST_BORDERS) return lit("hits", 0, end);
  const shapes = Array.from({ length: numHits }, (_, index) =>
    lit(`hit-${index}`, index * blockSize, (index + 1) * blockSize, Math.min(1, numLooked - index)),
  ).flat();
  return [...shapes, ...lit("hit-partly", numHits * blockSize, end)];
}

/** The beginning of each block's text, where there is room for it. */
function previewShapes(view: TraceView, on: Ribbon, isLit: (index: number) => boolean): Shape[] {
  const { blockSize, rowHeight } = on;
  const reading = readingOf(view);
  if (!reading || blockSize * on.tokenWidth < LEAST_PREVIEW || rowHeight < 24) return [];
  const most = Math.max(1, Math.floor((rowHeight - 12) / PREVIEW_LINE));
  return Array.from({ length: Math.ceil(on.numTokens / blockSize) }, (_, index) => {
    const start = index * blockSize;
    const place = places(on, start, start + blockSize)[0]!;
    if (place.width < LEAST_PREVIEW) return [];
    const words = joinedLabels(reading.pieces.slice(start, start + blockSize)).replaceAll("·", " ");
    return lines(words, place.width - 14, 11, most, monoWidth).map((each, row) =>
      text(`preview-${index}-${row}`, place.x + 7, place.y + 17 + row * PREVIEW_LINE, each, {
        font: "mono",
        size: 11,
        ink: isLit(index) ? "on-hue" : "soft",
      }),
    );
  }).flat();
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

/** The newest steps, each with what else was in its batch. */
function stepShapes(view: TraceView, on: Ribbon): Shape[] {
  const chunks = readings(view);
  const { area } = on;
  const y = below(on);
  return chunks.slice(-2).map((chunk, index) => {
    const others =
      chunk.num_sequences === null
        ? "what shared the step is not reported"
        : chunk.num_sequences > 1
          ? `beside ${counted(chunk.num_sequences - 1, "other request")}`
          : "alone";
    const number = chunks.length - Math.min(2, chunks.length) + index + 1;
    const words = `Step ${number}: tokens ${count(chunk.start + 1)}–${count(chunk.end)} · ${duration(chunk.step_us)} · ${others}`;
    return text(`step-${number}`, area.x, y + 10 + index * 20, fitted(words, area.width, 12, sansWidth));
  });
}
