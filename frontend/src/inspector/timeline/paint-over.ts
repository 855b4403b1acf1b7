/** Draws the layer over the lanes: the axis, the path of the wait, the focused span, marks, ranges and the playhead. */
import { MIN_WIDTH } from "../../layout/lanes";
import { AXIS_HEIGHT, type Box } from "../../layout/timeline";
import { STAGES } from "../../trace/stages";
import { duration } from "../../trace/format";
import { rowTop, type Picture } from "./painter";
import type { Context, Palette } from "../../theme/palette";

/** Reach of a compressed gap's name beyond the gap. */
const GAP_LABEL = 30;
const ROW_OF = new Map(STAGES.map(({ id }, index) => [id as string, index + 1]));

export function paintOver(ctx: Context, picture: Picture, palette: Palette): void {
  paintUnplayed(ctx, picture, palette);
  paintAxis(ctx, picture, palette);
  paintRing(ctx, picture, palette);
  paintMeasured(ctx, picture, palette);
  for (const at of picture.marks) paintFlag(ctx, picture, at, palette, []);
  if (picture.passing !== null) paintFlag(ctx, picture, picture.passing, palette, [3, 3]);
  paintPlayhead(ctx, picture, palette);
}

/** Paint the part that the replay has not reached in pale colours. */
function paintUnplayed(ctx: Context, { box, on, played }: Picture, palette: Palette): void {
  if (played === null) return;
  const x = Math.max(0, on.toX(played));
  ctx.globalAlpha = 0.72;
  ctx.fillStyle = palette.paper;
  ctx.fillRect(x, box.rowsTop + 1, Math.max(0, box.width - x), box.height);
  ctx.globalAlpha = 1;
}

/** From lane to lane along the wait: under the bar of each part, and down or up where the next begins. */
export function paintPath(ctx: Context, { box, on, waits }: Picture, palette: Palette): void {
  const level = (stage: string) => rowTop(box, ROW_OF.get(stage)!) + box.barTop + box.barHeight + 0.5;
  ctx.strokeStyle = palette.soft;
  ctx.lineWidth = 1;
  ctx.lineJoin = "round";
  ctx.beginPath();
  let last: number | null = null;
  for (const { stage, start, end } of waits) {
    const [from, to] = [on.toX(start), on.toX(end)];
    if (to < -box.width || from > 2 * box.width) {
      last = stage ? level(stage) : last;
      continue;
    }
    const y: number = stage ? level(stage) : (last ?? rowTop(box, 1));
    if (last === null) ctx.moveTo(from, y);
    else ctx.lineTo(Math.round(from) + 0.5, last);
    ctx.lineTo(Math.round(from) + 0.5, y);
    ctx.lineTo(Math.round(to) + 0.5, y);
    last = y;
  }
  ctx.stroke();
}

function paintAxis(ctx: Context, { box, on, ticks, gaps }: Picture, palette: Palette): void {
  ctx.font = `${box.typeSize}px ${palette.mono}`;
  ctx.fillStyle = palette.faint;
  const edges = gaps.map((gap) => [on.toX(gap.start), on.toX(gap.end)] as const);
  for (const { x, label } of ticks) {
    const width = ctx.measureText(label).width + 8;
    const isCrossed = edges.some(([from, to]) => x + width > from - GAP_LABEL && x < to + GAP_LABEL);
    if (x + width < box.width && !isCrossed) ctx.fillText(label, Math.round(x) + 4, AXIS_HEIGHT / 2);
  }
  ctx.fillStyle = palette.soft;
  let written = -Infinity;
  edges.forEach(([from, to], index) => {
    if (to < 0 || from > box.width) return;
    const label = `${duration(gaps[index]!.end - gaps[index]!.start)} idle`;
    const width = ctx.measureText(label).width;
    const x = Math.max(0, Math.min(box.width - width, (from + to - width) / 2));
    if (x < written) return;
    ctx.fillText(label, x, AXIS_HEIGHT / 2);
    written = x + width + GAP_LABEL;
  });
}

/** The focused span keeps its colour; a ring says which it is. */
function paintRing(ctx: Context, { box, on, focus, now }: Picture, palette: Palette): void {
  if (!focus) return;
  const top = rowTop(box, ROW_OF.get(focus.stage)!) + (focus.isMark ? box.markTop : box.barTop);
  const height = focus.isMark ? box.markHeight : box.barHeight;
  const end = focus.isOpen ? Math.max(focus.end, now) : focus.end;
  const x = Math.max(-4, on.toX(focus.start));
  const width = Math.max(MIN_WIDTH, Math.min(box.width + 4, on.toX(end)) - x);
  if (x + width < -3 || x > box.width + 3) return;
  ctx.lineWidth = 3.5;
  ctx.strokeStyle = palette.paper;
  ring(ctx, x, top, width, height);
  ctx.lineWidth = 1.75;
  ctx.strokeStyle = palette.accent;
  ring(ctx, x, top, width, height);
}

function ring(ctx: Context, x: number, y: number, width: number, height: number): void {
  ctx.beginPath();
  ctx.roundRect(x - 2, y - 2, width + 3, height + 4, 3.5);
  ctx.stroke();
}

function paintMeasured(ctx: Context, { box, on, measured }: Picture, palette: Palette): void {
  if (!measured) return;
  const [from, to] = [on.toX(measured.start), on.toX(measured.end)];
  ctx.globalAlpha = 0.12;
  ctx.fillStyle = palette.accent;
  ctx.fillRect(from, box.rowsTop, to - from, box.height);
  ctx.globalAlpha = 1;
  for (const x of [from, to]) ctx.fillRect(Math.round(x), AXIS_HEIGHT - 8, 1, box.height);
  tag(ctx, duration(measured.end - measured.start), (from + to) / 2, box, palette);
}

/** dash: on and off, px; a mark that stays is a whole line. */
function paintFlag(ctx: Context, { box, on }: Picture, at: number, palette: Palette, dash: number[]): void {
  const x = Math.round(on.toX(at));
  if (x < -40 || x > box.width + 40) return;
  ctx.strokeStyle = palette.accent;
  ctx.setLineDash(dash);
  ctx.lineWidth = 1;
  ctx.beginPath();
  ctx.moveTo(x + 0.5, AXIS_HEIGHT - 4);
  ctx.lineTo(x + 0.5, box.height);
  ctx.stroke();
  ctx.setLineDash([]);
  tag(ctx, duration(at), x, box, palette);
}

/** A figure on the axis, over its ticks. */
function tag(ctx: Context, text: string, middle: number, box: Box, palette: Palette): void {
  ctx.font = `${box.typeSize}px ${palette.mono}`;
  const width = ctx.measureText(text).width + 10;
  const x = Math.max(0, Math.min(box.width - width, middle - width / 2));
  ctx.fillStyle = palette.accent;
  ctx.beginPath();
  ctx.roundRect(x, 2, width, 16, 3);
  ctx.fill();
  ctx.fillStyle = palette.accentInk;
  ctx.fillText(text, x + 5, 10.5);
}

function paintPlayhead(ctx: Context, { box, on, playhead }: Picture, palette: Palette): void {
  const x = Math.round(on.toX(playhead));
  if (x < -6 || x > box.width + 6) return;
  ctx.fillStyle = palette.accent;
  ctx.fillRect(x, box.rowsTop - 6, 1, box.height);
  ctx.beginPath();
  ctx.moveTo(x - 4.5, box.rowsTop - 8);
  ctx.lineTo(x + 5.5, box.rowsTop - 8);
  ctx.lineTo(x + 0.5, box.rowsTop - 1);
  ctx.fill();
}
