// @vitest-environment jsdom
import { expect, it } from "vitest";
import { RequestTrace } from "../../state/request/request-trace.svelte";
import { ACCEPTED, token } from "../../trace/fixtures";
import { dimmedAfter, playheadOf } from "./playhead-mark";

function traced(): RequestTrace {
  const trace = new RequestTrace("req_a");
  [ACCEPTED, ...[0, 1, 2].map((position) => token(position, 100 + position))].forEach((event, index) =>
    trace.receive(event, index + 1),
  );
  return trace;
}

it("marks nothing while the trace is live", () => {
  expect(playheadOf(traced())).toEqual({ current: null, reached: null });
});

it("marks the newest token of the moment that is shown, and what was reached by then", () => {
  const trace = traced();
  trace.seek(101);
  expect(playheadOf(trace)).toEqual({ current: 1, reached: 1 });
  trace.seek(50);
  expect(playheadOf(trace)).toEqual({ current: null, reached: -1 });
});

it("marks the token that is looked at, and dims nothing at the end", () => {
  const trace = traced();
  trace.select(0);
  expect(playheadOf(trace)).toEqual({ current: 0, reached: 0 });
  trace.seek(trace.duration);
  expect(playheadOf(trace)).toEqual({ current: 2, reached: null });
  trace.follow();
  trace.selected = 1;
  expect(playheadOf(trace)).toEqual({ current: 1, reached: null });
});

it("dims nothing with the glass on and a word looked at, and dims as ever in a replay and without the glass", () => {
  const trace = traced();
  trace.select(0);
  expect(dimmedAfter(trace, true)).toBeNull();
  expect(dimmedAfter(trace, false)).toBe(0);
  const { view, selected, isLive, isAtEnd } = trace;
  expect(dimmedAfter({ view, selected, isLive, isAtEnd, isPlaying: true, isFollowing: false }, true)).toBe(0);
  trace.seek(101);
  expect(dimmedAfter(trace, true)).toBe(1);
});

it("dims nothing of an answer that is followed", () => {
  const trace = traced();
  trace.startFollowing();
  expect(playheadOf(trace).reached).toBe(-1);
  expect(dimmedAfter(trace, false)).toBeNull();
});
