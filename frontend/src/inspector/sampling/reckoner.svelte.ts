/** Computes a course between two frames, a few milliseconds at a time, so that a dragged slider stays smooth. */
import type { Course } from "../../trace/sampling/whatif";

/** Share of a frame's 16.7 ms. */
const BUDGET_MS = 6;

export class Reckoner {
  /** The last complete course; null: none yet. */
  course = $state.raw<Course | null>(null);
  /** True when the result belongs to other settings than those wanted now. */
  isOld = $state(false);
  private frame = 0;

  /** Replaces the course under computation. */
  begin(parts: Generator<number, Course>): void {
    this.stop();
    this.isOld = true;
    this.goOn(parts);
  }

  stop(): void {
    cancelAnimationFrame(this.frame);
  }

  private goOn(parts: Generator<number, Course>): void {
    const end = performance.now() + BUDGET_MS;
    let step = parts.next();
    while (!step.done && performance.now() < end) step = parts.next();
    if (!step.done) {
      this.frame = requestAnimationFrame(() => this.goOn(parts));
      return;
    }
    this.course = step.value;
    this.isOld = false;
  }
}
