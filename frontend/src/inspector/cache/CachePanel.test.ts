// @vitest-environment jsdom
import { afterEach, expect, it } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import { RequestTrace } from "../../state/request/request-trace.svelte";
import { FORK } from "../../trace/fixtures";
import CachePanel from "./CachePanel.svelte";
import TokensPanel from "../tokens/TokensPanel.svelte";

let panel: object;
afterEach(() => unmount(panel));

function fork(): RequestTrace {
  const trace = new RequestTrace("req_a");
  FORK.forEach((event, index) => trace.receive(event, index + 1));
  return trace;
}

it("says of a fork how many of all that it read were cached", () => {
  const trace = fork();
  panel = mount(CachePanel, { target: document.body, props: { trace, view: trace.view } });
  flushSync();
  expect(document.querySelector(".lead")!.textContent).toContain("45 of 48 tokens were in the cache");
});

it("says of a fork's prompt that all of it came from the cache", () => {
  panel = mount(TokensPanel, { target: document.body, props: { trace: fork(), onSelect: () => {} } });
  flushSync();
  expect(document.querySelector('[data-testid="cached-legend"]')!.textContent).toContain("all 40 came from");
});
