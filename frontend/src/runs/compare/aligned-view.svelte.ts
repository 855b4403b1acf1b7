/** The view of the aligned timelines: the window on their common axis. Knows no pixels but the width it is given. */
import { alignedRange, alignedRows, placeAt, shifted, zeroOf, type Zero } from "../../layout/aligned";
import { hit, Lanes, type Hit } from "../../layout/lanes";
import { AXIS_HEIGHT, clamp, pan, scale, ticks, zoom, type Range } from "../../layout/timeline";
import { duration } from "../../trace/format";
import type { TraceView } from "../../trace/view";

const ZOOM = 1.6;

export class AlignedView {
  width = $state(0);
  zero = $state<Zero>("accepted");
  private chosen = $state.raw<Range | null>(null);
  private readonly lanes: Lanes[] = [];

  constructor(private readonly views: () => TraceView[]) {}

  readonly laid = $derived.by(() =>
    this.views().map((view, index) => (this.lanes[index] ??= new Lanes()).update(view)),
  );
  /** A request that has no first token yet stands at its acceptance. */
  readonly zeros = $derived.by(() => this.views().map((view) => zeroOf(view, this.zero) ?? 0));
  readonly rows = $derived.by(() => alignedRows(this.laid, AXIS_HEIGHT));
  readonly height = $derived.by(() => {
    const last = this.rows.at(-1);
    return (last ? last.top + last.height : AXIS_HEIGHT) + 1;
  });
  readonly whole = $derived.by(() =>
    alignedRange(
      this.laid.map(({ whole }) => whole),
      this.zeros,
    ),
  );
  readonly window = $derived.by(() => (this.chosen ? clamp(this.chosen, this.whole) : this.whole));
  readonly on = $derived.by(() => scale(this.window, this.width));
  readonly ticks = $derived.by(() => ticks(this.on));
  readonly isFit = $derived.by(() => this.chosen === null);

  ownScale(index: number) {
    return shifted(this.on, this.zeros[index]!);
  }

  show(window: Range | null): void {
    const isWhole = window && window.end - window.start >= this.whole.end - this.whole.start - 1e-6;
    this.chosen = isWhole ? null : window;
  }

  zoomAt(x: number, factor: number): void {
    this.show(zoom(this.window, this.whole, factor, this.on.toTime(x)));
  }

  panBy(px: number): boolean {
    if (this.isFit) return false;
    const before = this.window.start;
    this.show(pan(this.window, this.whole, px * this.on.usPerPx));
    return Math.abs(this.window.start - before) > this.on.usPerPx * 0.01;
  }

  zoomIn(): void {
    this.zoomAt(this.width / 2, 1 / ZOOM);
  }

  zoomOut(): void {
    this.zoomAt(this.width / 2, ZOOM);
  }

  panByShare(share: number): void {
    this.panBy(this.width * share);
  }

  /** The request whose bar is under the pointer. */
  at(x: number, y: number, reach: number): { index: number; found: Hit } | null {
    const place = placeAt(this.rows, y);
    if (!place) return null;
    const { stage, bars, marks } = place.row.lanes[place.index]!;
    const found = hit(
      [stage, bars, marks],
      x,
      this.ownScale(place.index),
      reach,
      this.views()[place.index]!.at,
    );
    return found && { index: place.index, found };
  }

  readonly shown = $derived.by(() => `${duration(this.window.start)} to ${duration(this.window.end)}`);
}
