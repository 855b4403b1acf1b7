/** Collects the events between two frames of the screen, to show them at once: a past comes by the thousand. */
import type { AnyEvent } from "../../protocol/events";
import { beforeNextPaint } from "./before-paint";

export interface Arrived {
  event: AnyEvent;
  seq: number;
}

export class Arrivals {
  private readonly waiting: Arrived[] = [];

  constructor(private readonly read: (arrived: Arrived[]) => void) {}

  take(event: AnyEvent, seq: number): void {
    if (!this.waiting.length) beforeNextPaint(() => this.flushUnlessMore(0, 0));
    this.waiting.push({ event, seq });
  }

  drop(): void {
    this.waiting.length = 0;
  }

  flush(): void {
    this.read(this.waiting.splice(0));
  }

  /** While a past pours in, drawing each of its frames would only delay the whole. */
  private flushUnlessMore(numBefore: number, numFrames: number): void {
    const num = this.waiting.length;
    if (num - numBefore < POURING || numFrames >= MOST_FRAMES) this.flush();
    else beforeNextPaint(() => this.flushUnlessMore(num, numFrames + 1));
  }
}

/** No engine gives so many events within a frame. */
const POURING = 100;
const MOST_FRAMES = 30;
