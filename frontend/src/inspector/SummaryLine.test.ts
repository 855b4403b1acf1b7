import { afterEach, expect, it } from "vitest";
import { mount, unmount } from "svelte";
import type { AnyEvent } from "../protocol/events";
import { ACCEPTED, CANCELLED, ended, failed, foldAll, RELEASED, token, WITHHELD } from "../trace/fixtures";
import SummaryLine from "./SummaryLine.svelte";

const WRITTEN = [ACCEPTED, token(0, 100_000), token(1, 300_000), RELEASED];
const QUEUED: AnyEvent = { type: "generation.queued", at: 5000, attempt: 1, queue_depth: 0 };
let line: object;
afterEach(() => unmount(line));

function summary(events: AnyEvent[]): string[] {
  line = mount(SummaryLine, { target: document.body, props: { view: foldAll(events) } });
  return [...document.querySelectorAll(".summary > span")].map((span) => span.textContent);
}

it.each([
  ["what is only checked", [ACCEPTED], "checking"],
  ["what no worker has taken", [ACCEPTED, QUEUED], "queued"],
  ["what stands behind others", [ACCEPTED, { ...QUEUED, queue_depth: 2 }], "queued, 2 in front"],
  ["an answer under way", WRITTEN, "writing"],
  ["one whose Stop has not taken effect", [ACCEPTED, QUEUED, CANCELLED], "stopping"],
  ["one that was stopped", [...WRITTEN, CANCELLED, ...ended("abort")], "stopped"],
  ["one that was stopped before its start", [ACCEPTED, CANCELLED, failed("gateway", "cancelled")], "stopped"],
  ["one that reached its limit", [...WRITTEN, ...ended("length")], "cut at the length limit"],
  ["one that was withheld", [...WRITTEN, WITHHELD, ...ended("content_filter")], "partly withheld"],
  ["a message that was blocked", [ACCEPTED, failed("safety", "blocked")], "blocked"],
  ["a failure", [ACCEPTED, QUEUED, failed("generation", "no_worker")], "failed"],
] as [string, AnyEvent[], string][])("names %s", (_, events, word) => expect(summary(events)[0]).toBe(word));

it("tells what the cache had of the prompt as soon as that is known", () => {
  const lookup: AnyEvent = {
    type: "cache.looked_up",
    at: 6000,
    block_size: 16,
    hits: [true, true, false],
    num_cached_tokens: 32,
    saved_us: null,
    ttl: "none",
  };
  expect(summary([ACCEPTED, QUEUED, lookup, { ...lookup, num_cached_tokens: 64 }])).toContain("cached 32");
});

it("says nothing but the figures of an answer that ended by itself, also when Stop came too late", () => {
  const figures = ["cached 0", "first text 310\u00a0ms", "2 tokens", "5 tok/s"];
  expect(summary([...WRITTEN, CANCELLED, ...ended("stop")])).toEqual(figures);
});
