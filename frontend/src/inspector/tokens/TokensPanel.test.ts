// @vitest-environment jsdom
import { expect, it } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import type { AnyEvent } from "../../protocol/events";
import { RequestTrace } from "../../state/request/request-trace.svelte";
import { FORKED, token } from "../../trace/fixtures";
import TokensPanel from "./TokensPanel.svelte";

const PROMPT = {
  type: "prompt.tokenized",
  generation: 0,
  at: 1,
  ids: [1, 2, 3],
  pieces: ["x", "y", "z"].map(btoa),
  special: [],
} as unknown as AnyEvent;
const LOOKUP = { type: "cache.looked_up", generation: 0, at: 2, num_cached_tokens: 2 } as unknown as AnyEvent;
const DRAFT: AnyEvent = {
  type: "draft.verified",
  generation: 0,
  at: 3,
  position: 0,
  ids: [10, 12],
  pieces: [btoa(" a"), btoa("c")],
  num_accepted: 1,
  source: "ngram",
};

function shown(events: AnyEvent[], check: (root: HTMLElement) => void) {
  const trace = new RequestTrace("req_a");
  events.forEach((event, index) => trace.receive(event, index + 1));
  const panel = mount(TokensPanel, { target: document.body, props: { trace, onSelect: () => undefined } });
  flushSync();
  try {
    check(document.body);
  } finally {
    void unmount(panel);
  }
}

it("marks the accepted guess and the cached tokens, each with a legend", () => {
  shown([PROMPT, LOOKUP, DRAFT, token(0, 4), token(1, 5)], (root) => {
    const chips = [...root.querySelectorAll<HTMLElement>('[data-testid="token"]')];
    expect(chips.map((chip) => chip.classList.contains("guessed"))).toEqual([true, false]);
    expect(chips[0]!.getAttribute("aria-label")).toContain("guessed ahead and accepted");
    const cached = [...root.querySelectorAll('[title*="from the prefix cache"]')];
    expect(cached.map((chip) => chip.textContent)).toEqual(["x", "y"]);
    expect(root.textContent.replace(/\s+/g, " ")).toContain("the first 2 of 3 came from the prefix cache");
    expect(root.textContent).toContain("A dotted underline");
  });
});

it("tells the prompt and the answer that a fork goes on from apart in what came from the cache", () => {
  const lookup = { ...LOOKUP, num_cached_tokens: 5 };
  shown([PROMPT, FORKED, lookup as unknown as AnyEvent, token(3, 4)], (root) => {
    const told = root.textContent.replace(/\s+/g, " ");
    expect(told).toContain(
      "all 3 came from the prefix cache, and 2 of the 3 tokens of the answer it continues.",
    );
  });
});

it("has no marks and no legends where nothing was guessed or cached", () => {
  shown([PROMPT, token(0, 4)], (root) => {
    expect(root.querySelector(".guessed, .cached")).toBeNull();
    expect(root.textContent).not.toMatch(/dotted|prefix cache/);
  });
});
