/** Walks through a trace sentence by sentence. The trace's playhead follows the place in the text. */
import { RequestTrace } from "../../state/request/request-trace.svelte";
import { advance, isAtEnd, momentAt, type Line, type Place } from "./reading-clock";

export class Narrator {
  place = $state.raw<Place>({ index: 0, share: 1 });
  isPlaying = $state(false);
  private lastTick = 0;

  constructor(
    readonly trace: RequestTrace,
    readonly lines: Line[],
    /** True when the moment jumps to each sentence's end instead of moving there. */
    private readonly isStill: () => boolean,
  ) {
    this.goTo({ index: 0, share: 1 });
  }

  /** Show a whole sentence, with the playhead at its end. */
  show(index: number): void {
    this.isPlaying = false;
    this.goTo({ index: Math.min(Math.max(0, index), this.lines.length - 1), share: 1 });
  }

  play(): void {
    const { lines, place } = this;
    if (isAtEnd(lines, place)) this.goTo({ index: 0, share: 0 });
    else if (place.share >= 1) this.goTo({ index: place.index + (place.index ? 1 : 0), share: 0 });
    this.isPlaying = true;
    this.lastTick = performance.now();
    requestAnimationFrame((now) => this.tick(now));
  }

  pause(): void {
    this.isPlaying = false;
  }

  toggle(): void {
    if (this.isPlaying) this.pause();
    else this.play();
  }

  private tick(now: number): void {
    if (!this.isPlaying) return;
    // A tab that was hidden goes on where it stopped.
    const elapsed = Math.min(100, now - this.lastTick);
    this.lastTick = now;
    this.goTo(advance(this.lines, this.place, elapsed));
    if (isAtEnd(this.lines, this.place)) this.isPlaying = false;
    else requestAnimationFrame((next) => this.tick(next));
  }

  private goTo(place: Place): void {
    this.place = place;
    const shown = this.isStill() ? { ...place, share: 1 } : place;
    const moment = momentAt(this.lines, shown);
    if (moment !== this.trace.position || this.trace.isLive) this.trace.seek(moment);
  }
}
