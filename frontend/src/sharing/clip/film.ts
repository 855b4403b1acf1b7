/** A request's clip as pictures: frame after frame on a canvas. Knows nothing of how they are packed into a file. */
import { cssOf } from "../../drawing/ink";
import type { Ink } from "../../layout/journey/shapes";
import type { SavedLog } from "../../state/request/saved-log";
import { fold } from "../../trace/fold";
import { emptyView, type TraceView } from "../../trace/view";
import { paint } from "../../drawing/paint";
import { frameShapes, HEIGHT, WIDTH } from "./frame";
import { clipPlan, type Moment } from "./plan";

export class Film {
  readonly perSecond: number;
  private readonly plan: Moment[];
  private readonly colors = new Map<Ink, string>();
  private view: TraceView = emptyView();
  private shown = 0;

  constructor(
    private readonly saved: SavedLog,
    perSecond: number,
  ) {
    this.perSecond = perSecond;
    this.plan = clipPlan(saved.log, perSecond);
  }

  get numFrames(): number {
    return this.plan.length;
  }

  /** Fills the canvas, whatever its size, with one frame. */
  draw(context: CanvasRenderingContext2D, frame: number): void {
    const moment = this.plan[frame]!;
    this.goTo(moment.shown);
    context.setTransform(context.canvas.width / WIDTH, 0, 0, context.canvas.height / HEIGHT, 0, 0);
    paint(context, frameShapes(this.view, this.saved.view, moment), (ink) => this.colorOf(ink));
  }

  private goTo(shown: number): void {
    if (shown < this.shown) [this.view, this.shown] = [emptyView(), 0];
    for (const { event, seq } of this.saved.log.slice(this.shown, shown))
      this.view = fold(this.view, event, seq);
    this.shown = shown;
  }

  /** The page theme's colour at its first use. */
  private colorOf(ink: Ink): string {
    const known = this.colors.get(ink);
    if (known) return known;
    const probe = document.createElement("span");
    probe.style.color = cssOf(ink);
    document.body.append(probe);
    const color = getComputedStyle(probe).color;
    probe.remove();
    this.colors.set(ink, color);
    return color;
  }
}
