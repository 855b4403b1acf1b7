/** Draws the timeline's lanes. Knows pixels and colours; every coordinate comes from layout/. */
import { runs, type Lane, type Run } from "../../layout/lanes";
import type { Box, Range, Scale, Tick } from "../../layout/timeline";
import type { StageId } from "../../trace/stages";
import { duration } from "../../trace/format";
import { barLabel } from "../../trace/timing/span-words";
import type { Span } from "../../trace/timing/spans";
import type { Wait } from "../../trace/timing/waits";
import type { Context, Palette } from "../../theme/palette";
import { paintOver, paintPath } from "./paint-over";

export interface Picture {
  box: Box;
  on: Scale;
  ticks: Tick[];
  gaps: Range[];
  lanes: Lane[];
  /** The first row; the lanes follow. */
  waits: Wait[];
  hasPath: boolean;
  /** The end of open spans. */
  now: number;
  /** The time after which nothing is played yet. Null: nothing is hidden. */
  played: number | null;
  playhead: number;
  hoveredRow: number | null;
  selectedRow: number | null;
  focus: Span | null;
  measured: Range | null;
  /** Marks that stay, and the one that the next replaces. */
  marks: number[];
  passing: number | null;
}

/** Text is not written where less of it than this would be seen. */
const LEAST_LABEL = 18;
const LABEL_PAD = 5;
/** No character of either font is narrower on average. */
const LEAST_CHAR = 3.5;

export function paint(ctx: Context, picture: Picture, palette: Palette): void {
  const { box, on, lanes, now } = picture;
  ctx.clearRect(0, 0, box.width, box.height);
  ctx.textBaseline = "middle";
  paintRows(ctx, picture, palette);
  paintGaps(ctx, picture, palette);
  paintWaits(ctx, picture, palette);
  if (picture.hasPath) paintPath(ctx, picture, palette);
  lanes.forEach(({ id, stage, bars, marks }, index) => {
    const top = rowTop(box, index + 1);
    const found = [...runs(stage, on, now), ...runs(bars, on, now)];
    if (stage.spans.length && bars.spans.length) found.sort((a, b) => a.x - b.x);
    paintBars(ctx, found, id, top, picture, palette);
    ctx.fillStyle = palette.stage[id];
    for (const { x, width } of runs(marks, on, now))
      ctx.fillRect(x, top + box.markTop, width, box.markHeight);
  });
  paintOver(ctx, picture, palette);
}

export const rowTop = (box: Box, row: number) => box.rowsTop + row * box.rowHeight;

function paintRows(
  ctx: Context,
  { box, ticks, hoveredRow, selectedRow, lanes }: Picture,
  palette: Palette,
): void {
  ctx.fillStyle = palette.wash;
  for (const row of new Set([hoveredRow, selectedRow]))
    if (row !== null) ctx.fillRect(0, rowTop(box, row), box.width, box.rowHeight);
  ctx.fillStyle = palette.line;
  for (let row = 0; row <= lanes.length + 1; row++) ctx.fillRect(0, rowTop(box, row), box.width, 1);
  for (const { x } of ticks) ctx.fillRect(Math.round(x), box.rowsTop - 6, 1, box.height);
}

/** A compressed gap is crossed out, and has a tick at both of its edges. */
function paintGaps(ctx: Context, { box, on, gaps }: Picture, palette: Palette): void {
  for (const gap of gaps) {
    const x = Math.round(on.toX(gap.start));
    const width = Math.round(on.toX(gap.end)) - x;
    if (x > box.width || x + width < 0) continue;
    hatch(ctx, x, box.rowsTop, width, box.height - box.rowsTop, palette.line);
    ctx.fillStyle = palette.faint;
    for (const edge of [x, x + width]) ctx.fillRect(edge, box.rowsTop - 4, 1, box.height);
  }
}

export function hatch(
  ctx: Context,
  x: number,
  y: number,
  width: number,
  height: number,
  color: string,
): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(x, y, width, height);
  ctx.clip();
  ctx.strokeStyle = color;
  ctx.lineWidth = 1;
  ctx.beginPath();
  // The stripes are fixed to the pixels, so that panning does not make them crawl; only visible parts are striped.
  const left = Math.max(0, Math.floor(x / 5) * 5);
  const right = Math.min(x + width, ctx.canvas.width);
  for (let at = left - height; at < right; at += 5) {
    ctx.moveTo(at, y + height);
    ctx.lineTo(at + height, y);
  }
  ctx.stroke();
  ctx.restore();
}

function paintWaits(ctx: Context, { box, on, waits }: Picture, palette: Palette): void {
  const top = rowTop(box, 0) + box.barTop;
  for (const wait of waits) {
    const from = Math.max(0, on.toX(wait.start));
    const to = Math.min(box.width, on.toX(wait.end));
    if (to < 0 || from > box.width) continue;
    const width = Math.max(to - from, 1);
    if (!wait.stage) {
      hatch(ctx, from, top, width, box.barHeight, palette.faint);
      continue;
    }
    ctx.fillStyle = palette.stage[wait.stage];
    ctx.fillRect(from, top, width > 3 ? width - 1 : width, box.barHeight);
    write(
      ctx,
      [wait.label, duration(wait.end - wait.start)],
      from,
      width,
      top,
      box,
      palette.onStage[wait.stage],
      palette.sans,
    );
  }
}

function paintBars(
  ctx: Context,
  found: Run[],
  id: StageId,
  top: number,
  { box, now }: Picture,
  palette: Palette,
): void {
  const y = top + box.barTop;
  ctx.fillStyle = palette.stage[id];
  for (const run of found) {
    // A hairline of paper parts neighbours that are wide enough to spare it.
    const width = run.width > 3 ? run.width - 1 : run.width;
    const line = lineOf(run.span, box);
    if (width < 8) ctx.fillRect(run.x, y + line.y, width, line.height);
    else {
      ctx.beginPath();
      ctx.roundRect(run.x, y + line.y, width, line.height, 2);
      ctx.fill();
    }
  }
  found.forEach((run, index) => {
    // A line is too low for a text.
    if (run.count > 1 || (run.span.lines?.num ?? 1) > 1) return;
    const { span } = run;
    const length = duration((span.isOpen ? Math.max(span.end, now) : span.end) - span.start);
    const font = span.position === undefined ? palette.sans : palette.mono;
    if (write(ctx, [barLabel(span), length], run.x, run.width, y, box, palette.onStage[id], font)) return;
    // Beside it lies paper, and maybe the path of the wait: the figure stands clear of both.
    const free = (found[index + 1]?.x ?? box.width) - run.x - run.width;
    const x = run.x + run.width;
    if (span.position === undefined)
      write(ctx, [length], x, free, y, box, palette.soft, palette.mono, palette.paper);
  });
}

/** The span's place in the height of its bar. */
function lineOf({ lines = { at: 0, num: 1 } }: Span, { barHeight }: Box): { y: number; height: number } {
  const height = barHeight / lines.num;
  return { y: lines.at * height, height: lines.num > 1 ? Math.max(1, height - 1) : height };
}

const widths = new Map<string, number>();

/** Sets the font, which costs as much as writing: only for a text that may fit. */
function fits(ctx: Context, text: string, font: string, room: number): boolean {
  if (text.length * LEAST_CHAR > room) return false;
  const key = `${font} ${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    if (widths.size > 4000) widths.clear();
    ctx.font = font;
    widths.set(key, (width = ctx.measureText(text).width));
  }
  return width <= room;
}

/** Fonts that arrive late measure differently. */
export function forgetWidths(): void {
  widths.clear();
}

/** The first of the texts that fits, at the left; false when none does. */
function write(
  ctx: Context,
  texts: string[],
  x: number,
  width: number,
  y: number,
  box: Box,
  color: string,
  font: string,
  halo: string | null = null,
): boolean {
  if (width < LEAST_LABEL) return false;
  const sized = `${box.typeSize}px ${font}`;
  const text = texts.find((each) => fits(ctx, each, sized, width - 2 * LABEL_PAD));
  if (!text) return false;
  ctx.font = sized;
  const middle = y + box.barHeight / 2 + 0.5;
  if (halo) {
    ctx.strokeStyle = halo;
    ctx.lineWidth = 4;
    ctx.strokeText(text, x + LABEL_PAD, middle);
  }
  ctx.fillStyle = color;
  ctx.fillText(text, x + LABEL_PAD, middle);
  return true;
}
