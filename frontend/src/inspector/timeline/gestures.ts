/** Pointer and wheel on the canvas: scrubbing, panning, zooming, measuring, pinching and pointing. */
import { hit, type Hit, type Track } from "../../layout/lanes";
import { AXIS_HEIGHT, rowAt } from "../../layout/timeline";
import { STAGES, type StageId } from "../../trace/stages";
import type { Wait } from "../../trace/timing/waits";
import { NUM_ROWS, type TimelineView } from "./view.svelte";

/** A pointer that moved less has clicked. */
const STILL_PX = 4;
const REACH_PX = { mouse: 3, touch: 14 };
const MAX_WHEEL = 50;

export interface Pointed {
  /** Null: the row of the wait. */
  stage: StageId | null;
  found: Hit | null;
  /** In that row: the part of the wait. */
  wait: Wait | null;
  x: number;
  y: number;
}

type Drag = "scrub" | "pan" | "measure" | "box" | "pinch";

export class Gestures {
  private readonly pointers = new Map<number, { x: number; y: number }>();
  private drag: Drag | null = null;
  private from = { x: 0, y: 0, time: 0 };
  private hasMoved = false;

  constructor(
    private readonly view: TimelineView,
    private readonly point: (pointed: Pointed | null, isClick: boolean) => void,
  ) {}

  get isDragging(): boolean {
    return this.drag !== null && this.hasMoved;
  }

  down(event: PointerEvent): void {
    if (event.button !== 0) return;
    const at = place(event);
    (event.currentTarget as Element).setPointerCapture?.(event.pointerId);
    this.pointers.set(event.pointerId, at);
    this.from = { ...at, time: this.view.on.toTime(at.x) };
    this.hasMoved = this.pointers.size > 1;
    if (this.pointers.size > 1) this.drag = "pinch";
    else if (at.y < AXIS_HEIGHT) this.drag = "scrub";
    else this.drag = event.shiftKey ? "measure" : event.altKey ? "box" : "pan";
    if (this.drag === "scrub") this.view.seek(at.x);
  }

  move(event: PointerEvent): void {
    const at = place(event);
    const before = this.pointers.get(event.pointerId);
    if (!before || !this.drag) {
      if (event.pointerType !== "touch") this.hover(at, "mouse");
      return;
    }
    if (Math.hypot(at.x - this.from.x, at.y - this.from.y) > STILL_PX) this.hasMoved = true;
    if (this.drag === "pinch") this.pinch(event.pointerId, at);
    else if (this.drag === "scrub") this.view.seek(at.x);
    else if (this.hasMoved && this.drag === "pan") this.view.panBy(before.x - at.x);
    else if (this.hasMoved) this.measure(at.x);
    if (this.hasMoved || this.drag === "scrub") this.point(null, false);
    this.pointers.set(event.pointerId, at);
  }

  up(event: PointerEvent): void {
    if (!this.pointers.delete(event.pointerId)) return;
    const { drag } = this;
    if (drag === "pan" && !this.hasMoved && event.type === "pointerup")
      this.point(this.pointed(place(event), event.pointerType === "touch" ? "touch" : "mouse"), true);
    if (drag === "box" && this.view.measured) {
      this.view.zoomTo(this.view.measured);
      this.view.measured = null;
    }
    if (this.pointers.size === 0) this.drag = null;
    else this.drag = "pan";
  }

  /** A lifted finger has left too; the note on its tapped span stays. */
  leave(event: PointerEvent): void {
    if (this.pointers.size || event.pointerType === "touch") return;
    this.view.hoveredRow = null;
    this.point(null, false);
  }

  /** A plain wheel moves along the time while there is any left on that side, and is otherwise the page's. */
  wheel(event: WheelEvent): void {
    const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
    const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      // A wheel's notch is a hundred pixels and a trackpad's pinch a few; neither may jump.
      const size = Math.max(-MAX_WHEEL, Math.min(MAX_WHEEL, dy));
      this.view.zoomAt(place(event).x, Math.exp(size * 0.008));
    } else if (this.view.panBy(Math.abs(dx) > Math.abs(dy) ? dx : dy)) event.preventDefault();
  }

  pointed(at: { x: number; y: number }, pointer: keyof typeof REACH_PX): Pointed | null {
    const { view } = this;
    const row = rowAt(at.y, view.box, NUM_ROWS);
    if (row === null) return null;
    if (row === 0) {
      const time = view.on.toTime(at.x);
      return { stage: null, found: null, wait: view.waits.find(({ end }) => end >= time) ?? null, ...at };
    }
    const stage = STAGES[row - 1]!.id;
    const { rowsTop, rowHeight, markTop } = view.box;
    const [made, bars, marks] = view.tracksOf(stage);
    const isAtMarks = (at.y - rowsTop) % rowHeight >= markTop - 1;
    const [first, second] = isAtMarks ? [[marks!], [made!, bars!]] : [[made!, bars!], [marks!]];
    const look = (tracks: Track[]) => hit(tracks, at.x, view.on, REACH_PX[pointer], view.now);
    const found = look(first) ?? look(second);
    return { stage, found, wait: null, ...at };
  }

  private hover(at: { x: number; y: number }, pointer: keyof typeof REACH_PX): void {
    this.view.hoveredRow = rowAt(at.y, this.view.box, NUM_ROWS);
    this.point(this.pointed(at, pointer), false);
  }

  private measure(x: number): void {
    const time = this.view.on.toTime(x);
    this.view.measured = { start: Math.min(this.from.time, time), end: Math.max(this.from.time, time) };
  }

  /** Zooms about the midpoint by how far the fingers have parted, and moves with it. */
  private pinch(id: number, at: { x: number; y: number }): void {
    const before = [...this.pointers.values()];
    const after = [...this.pointers].map(([each, place]) => (each === id ? at : place));
    const [a, b, c, d] = [before[0]!.x, before[1]!.x, after[0]!.x, after[1]!.x];
    this.view.panBy((a + b) / 2 - (c + d) / 2);
    this.view.zoomAt((c + d) / 2, Math.max(8, Math.abs(a - b)) / Math.max(8, Math.abs(c - d)));
  }
}

function place(event: MouseEvent): { x: number; y: number } {
  const { left, top } = (event.currentTarget as Element).getBoundingClientRect();
  return { x: event.clientX - left, y: event.clientY - top };
}
