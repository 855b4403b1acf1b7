// @vitest-environment jsdom
import { expect, it } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import type { AnyEvent } from "../../protocol/events";
import { RequestTrace } from "../../state/request/request-trace.svelte";
import { ACCEPTED, ended, RELEASED, token } from "../../trace/fixtures";
import EventsPanel from "./EventsPanel.svelte";

const OBSERVED = {
  type: "request.observed",
  at: 900_000,
  client: { last_paint_unix_us: 1_400_000, clock_offset_us: 0 },
} as unknown as AnyEvent;

it("lists what happened in the order of time, and the replay ends with the last of it", () => {
  const trace = new RequestTrace("req_a");
  // A token's event comes with its text: in the log it stands after events that happened before it.
  const log = [ACCEPTED, RELEASED, token(0, 100_000), token(1, 300_000), ...ended("stop"), OBSERVED];
  log.forEach((event, index) => trace.receive(event, index + 1));
  const panel = mount(EventsPanel, { target: document.body, props: { view: trace.view } });
  flushSync();
  const listed = [...document.querySelectorAll("summary")].map((row) => row.textContent);
  expect(listed).toEqual([
    "1request.accepted0\u00a0µs",
    "3token.sampled100\u00a0ms",
    "4token.sampled300\u00a0ms",
    "2text.released310\u00a0ms",
    "5generation.finished330\u00a0ms",
    "6request.finished340\u00a0ms",
    "7request.observed400\u00a0ms",
  ]);
  expect(trace.position).toBe(400_000);
  trace.seek(399_999);
  expect(trace.view.client?.last_paint_unix_us).toBeUndefined();
  trace.seek(400_000);
  expect(trace.view.client?.last_paint_unix_us).toBe(1_400_000);
  void unmount(panel);
});
