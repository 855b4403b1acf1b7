// @vitest-environment jsdom
import { mount, unmount } from "svelte";
import { afterEach, expect, it } from "vitest";
import type { AnyEvent, SafetyChecked } from "../../protocol/events";
import { foldAll, token } from "../../trace/fixtures";
import SafetyPanel from "./SafetyPanel.svelte";

let panel: Record<string, unknown> | null = null;
afterEach(() => {
  if (panel) void unmount(panel);
  panel = null;
  document.body.textContent = "";
});

const CHECK: SafetyChecked = {
  type: "safety.checked",
  subject: "",
  at: 1,
  generation: 0,
  layer: "output",
  classifier: "c",
  version: "4",
  policy: "default 3",
  scores: [{ category: "pii", score: 1, threshold: 0.5, verdict: "rewrite" }],
  verdict: "rewrite",
  start: 0,
  end: 12,
  duration_us: 900,
  buffered_us: 0,
  disguises: [{ kind: "zero_width", num: 2 }],
  findings: [{ kind: "e-mail", category: "pii", start: 4, end: 12, is_rewritten: true }],
};

function shown(events: AnyEvent[]): string {
  panel = mount(SafetyPanel, { target: document.body, props: { view: foldAll(events) } });
  return document.body.textContent.replace(/\s+/g, " ");
}

it("names what was replaced, where, and what was undone before", () => {
  const text = shown([{ ...token(0, 1), is_withheld: true, piece: btoa("[e-mail]"), logprob: null }, CHECK]);
  expect(text).toContain("replaced the text of 1 token");
  expect(text).toContain("e-mail, characters 5–12: replaced");
  expect(text).toContain("2 zero-width characters");
  expect(text).toContain("rewritten");
});

it("tells a refusal of the model itself with the probability of its words", () => {
  const said = { ...token(0, 1), piece: btoa("I can't help"), logprob: Math.log(0.25) };
  const released: AnyEvent = {
    type: "text.released",
    at: 2,
    generation: 0,
    text: "I can't help",
    num_tokens: 1,
  };
  const refusal: SafetyChecked = { ...CHECK, layer: "refusal", verdict: "allow", findings: [], end: 12 };
  const text = shown([said, released, refusal]);
  expect(text).toContain("The model refused by itself");
  expect(text).toContain("The answer begins with “I can't help”.");
  expect(text).toContain("Probability of its first token: 25.0\u00a0%".replace(/\s+/g, " "));
});
