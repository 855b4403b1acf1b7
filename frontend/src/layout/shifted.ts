/** The scale of another request's times, which begin at another moment. */
import type { Scale } from "./timeline";

/** A scale that takes and gives times since a moment that is `offset` µs after that of `on`. */
export function shifted(on: Scale, offset: number): Scale {
  return {
    ...on,
    start: on.start - offset,
    end: on.end - offset,
    toX: (time) => on.toX(time + offset),
    toTime: (x) => on.toTime(x) - offset,
  };
}
