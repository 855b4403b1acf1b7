import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { Frame } from "../../protocol/events";
import { goTo, placeIn, placeOf, searchOf } from "./place";
import { RequestTrace } from "./request-trace.svelte";

const LOG = new URL("../../../../tests/golden/logs/stopped.json", `file://${import.meta.dirname}/`).pathname;
const trace = () => RequestTrace.saved((JSON.parse(readFileSync(LOG, "utf8")) as { frames: Frame[] }).frames);

it("goes to a token and says so again", () => {
  const shown = trace();
  goTo(shown, placeOf("?token=5&panel=Sampling"));
  expect([shown.selected, shown.view.tokens.length]).toEqual([4, 5]);
  expect(searchOf(placeIn(shown, "Sampling"))).toBe("?token=5&panel=Sampling");
});

it("goes to a moment and says so again", () => {
  const shown = trace();
  goTo(shown, placeOf("?t=120000"));
  expect(shown.view.at).toBe(120_000);
  expect(searchOf(placeIn(shown, null))).toBe("?t=120000");
  shown.toLive();
  expect(searchOf(placeIn(shown, null))).toBe("");
});

it.each(["", "?token=0", "?token=-1", "?token=x", "?token=100000", "?t=1e9", "?t=", "?t=-3"])(
  "stays where it is for %s",
  (search) => {
    const shown = trace();
    goTo(shown, placeOf(search));
    expect(shown.isLive).toBe(true);
  },
);

it("counts the tokens of a fork from the first that it took over", () => {
  const frames = (JSON.parse(readFileSync(LOG, "utf8")) as { frames: Frame[] }).frames.map((frame) => ({
    ...frame,
    events: frame.events.map((event) =>
      event.type === "token.sampled" ? { ...event, position: event.position + 5 } : event,
    ),
  }));
  const fork = RequestTrace.saved(frames);
  goTo(fork, placeOf("?token=3"));
  expect(fork.isLive).toBe(true);
  goTo(fork, placeOf("?token=7"));
  expect([fork.selected, fork.view.tokens.length]).toEqual([6, 2]);
  expect(searchOf(placeIn(fork, null))).toBe("?token=7");
});

it("looks at a token that is still to come, and goes along with what comes", () => {
  const running = new RequestTrace("req_running");
  goTo(running, placeOf("?token=3"));
  expect([running.selected, running.isLive]).toEqual([2, true]);
});
