// @vitest-environment jsdom
import { afterEach, expect, it } from "vitest";
import { mount, unmount } from "svelte";
import type { AnyEvent } from "../../protocol/events";
import { RequestTrace } from "../../state/request/request-trace.svelte";
import { ACCEPTED, ended, foldAll } from "../../trace/fixtures";
import BillPanel from "./BillPanel.svelte";

const STORED: AnyEvent = {
  type: "cache.stored",
  generation: 0,
  at: 200_000,
  num_blocks: 3,
  ttl: "none",
  indices: null,
};
const BILL: AnyEvent = {
  type: "bill.posted",
  at: 335_000,
  lines: [{ kind: "output", num_tokens: 2, unit_price_nano: 3, amount_nano: 6 }],
  total_nano: 6,
  currency: "USD",
  price_version: "2026-01-01",
};
let panel: object;
afterEach(() => unmount(panel));

function text(events: AnyEvent[]): string {
  const props = { trace: new RequestTrace(""), view: foldAll(events), onPanel: () => undefined };
  panel = mount(BillPanel, { target: document.body, props });
  return document.body.textContent.replace(/\s+/g, " ");
}

it("says why blocks that were stored cost nothing", () => {
  expect(text([ACCEPTED, STORED, ...ended("stop"), BILL])).toContain("without a promised time");
});

it("says nothing of it when none were stored", () => {
  expect(text([ACCEPTED, ...ended("stop"), BILL])).not.toContain("without a promised time");
});

it("tells the share of the thinking, which has the output's price", () => {
  const thought: AnyEvent = {
    type: "thinking.ended",
    generation: 0,
    at: 300_000,
    num_tokens: 1,
    duration_us: 5,
    cause: "model",
  };
  expect(text([ACCEPTED, thought, ...ended("stop"), BILL])).toContain("Thinking: 1 token of the output");
});
