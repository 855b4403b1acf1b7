/** Draws the aligned timelines. Knows pixels and colours; every coordinate comes from layout/. */
import { BAR, barTop, type AlignedRow } from "../../layout/aligned";
import { runs } from "../../layout/lanes";
import type { Scale, Tick } from "../../layout/timeline";
import type { Palette } from "../../theme/palette";

export interface AlignedPicture {
  width: number;
  height: number;
  rows: AlignedRow[];
  on: Scale;
  own: Scale[];
  /** The end of each request's open spans. */
  now: number[];
  ticks: Tick[];
}

export function paintAligned(ctx: CanvasRenderingContext2D, picture: AlignedPicture, palette: Palette): void {
  const { width, height, rows, on, own, now, ticks } = picture;
  ctx.clearRect(0, 0, width, height);
  ctx.fillStyle = palette.line;
  for (const row of rows) ctx.fillRect(0, row.top, width, 1);
  ctx.fillRect(0, height - 1, width, 1);
  const top = rows[0]?.top ?? 0;
  for (const { x } of ticks) ctx.fillRect(Math.round(x), top - 6, 1, height);
  ctx.font = `10.5px ${palette.mono}`;
  ctx.textBaseline = "middle";
  ctx.fillStyle = palette.soft;
  for (const { x, label } of ticks) {
    const room = ctx.measureText(label).width;
    if (x + 4 + room < width) ctx.fillText(label, x + 4, top - 12);
  }
  ctx.fillStyle = palette.faint;
  ctx.fillRect(Math.round(on.toX(0)), top - 10, 1, height);
  for (const row of rows)
    row.lanes.forEach((lane, index) => {
      const y = barTop(row, index);
      ctx.fillStyle = palette.stage[row.stage];
      for (const track of [lane.stage, lane.bars])
        for (const run of runs(track, own[index]!, now[index]!))
          ctx.fillRect(run.x, y, run.width > 3 ? run.width - 1 : run.width, BAR);
      for (const run of runs(lane.marks, own[index]!, now[index]!))
        ctx.fillRect(run.x, y + BAR, run.width, 2);
    });
}
