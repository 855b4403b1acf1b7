// @vitest-environment jsdom
import { afterEach, expect, it } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import type { AnyEvent, ClientTiming } from "../../protocol/events";
import { RequestTrace } from "../../state/request/request-trace.svelte";
import { ACCEPTED, ended, RELEASED, token } from "../../trace/fixtures";
import TimingPanel from "./TimingPanel.svelte";

let panel: object;
afterEach(() => unmount(panel));

const client = {
  keydown_unix_us: 990_000,
  sent_unix_us: 995_000,
  responded_unix_us: 1_010_000,
  first_paint_unix_us: 1_320_000,
  last_paint_unix_us: 1_350_000,
  clock_offset_us: 0,
};
const OBSERVED: AnyEvent = { type: "request.observed", at: 600_000, client: client as ClientTiming };

function explanationOf(row: string): string {
  const label = [...document.querySelectorAll<HTMLElement>("th button")].find(
    ({ textContent }) => textContent === row,
  )!;
  label.click();
  flushSync();
  return label.nextElementSibling!.textContent.trim();
}

it("explains the rows that end on the screen by the painting, and those before by the network alone", () => {
  const events = [ACCEPTED, token(0, 100_000), token(1, 300_000), RELEASED, ...ended("stop"), OBSERVED];
  const trace = RequestTrace.saved([{ seq: 1, events }]);
  panel = mount(TimingPanel, { target: document.body, props: { trace, view: trace.view } });
  flushSync();
  expect(explanationOf("Network and first paint")).toContain("painting");
  expect(explanationOf("Network and last paint")).toContain("painting");
  expect(explanationOf("Network, up")).not.toContain("painting");
});

it("says of each figure from which moment it counts", () => {
  const events = [ACCEPTED, token(0, 100_000), RELEASED, ...ended("stop"), OBSERVED];
  const trace = RequestTrace.saved([{ seq: 1, events }]);
  panel = mount(TimingPanel, { target: document.body, props: { trace, view: trace.view } });
  flushSync();
  const told = document.body.textContent;
  expect(told).toMatch(/first token\s*100\sms after it was accepted/);
  expect(told).toMatch(/first text sent\s*310\sms after it was accepted/);
  expect(document.querySelector("thead")!.textContent).toContain("after the key press");
});
