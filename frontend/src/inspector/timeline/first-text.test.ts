// @vitest-environment jsdom
import { afterEach, expect, it } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import type { AnyEvent, ClientTiming } from "../../protocol/events";
import { ACCEPTED, ended, foldAll, RELEASED, token, WITHHELD } from "../../trace/fixtures";
import FirstText from "./FirstText.svelte";

let shown: object | null = null;
afterEach(() => {
  if (shown) void unmount(shown);
  shown = null;
});

/** The report of a browser that has painted something, on the clock of ACCEPTED. */
const client = { first_paint_unix_us: 1_500_000, last_paint_unix_us: 1_500_000, clock_offset_us: 0 };
const OBSERVED: AnyEvent = { type: "request.observed", at: 600_000, client: client as ClientTiming };

function text(events: AnyEvent[]): string {
  const view = foldAll([ACCEPTED, token(0, 100_000), token(1, 300_000), ...events]);
  shown = mount(FirstText, { target: document.body, props: { view, onShow: () => {} } });
  flushSync();
  return document.body.textContent.replace(/\s+/g, " ");
}

it("says when the text was seen and when it was sent", () => {
  expect(text([RELEASED, ...ended("stop"), OBSERVED])).toMatch(
    /Seen counts from .* 310 ms after it accepted/,
  );
});

it("says when the text was sent where no browser told that it was seen", () => {
  expect(text([RELEASED, ...ended("stop")])).toMatch(
    /First text sent, since it arrived.* accepted the request, 310 ms before/,
  );
});

it("opens with an answer that was withheld before any of it was sent", () => {
  const withheld = text([WITHHELD, ...ended("content_filter"), OBSERVED]);
  expect(withheld).toContain("First text seen");
  expect(withheld).toContain("The server sent no text of the answer");
});

it("has no first text where none was sent and none was seen", () => {
  expect(text([WITHHELD, ...ended("content_filter")])).toContain("First text: there was none");
});
