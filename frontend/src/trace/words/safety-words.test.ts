import { expect, test } from "vitest";
import type { SafetyChecked, SafetyScore } from "../../protocol/events";
import { sentence } from "./sentences";
import { worstScore } from "./safety-words";
import { emptyView } from "../view";

const score = (category: string, value: number, verdict: SafetyScore["verdict"]): SafetyScore => ({
  category,
  score: value,
  threshold: 0.6,
  verdict,
});
const check = (verdict: SafetyChecked["verdict"], ...scores: SafetyScore[]): SafetyChecked => ({
  type: "safety.checked",
  generation: 0,
  at: 68_000,
  layer: "input",
  subject: "",
  disguises: [],
  findings: [],
  classifier: "c",
  version: "1",
  policy: "p 1",
  scores,
  verdict,
  start: 0,
  end: 9,
  duration_us: 68_000,
  buffered_us: 0,
});
const said = (inputCheck: SafetyChecked) => sentence({ ...emptyView(), inputCheck }, "safety");

test("a text that is allowed is told without any category", () => {
  expect(said(check("allow", score("sexual", 0.12, "allow")))).toBe(
    "The message was allowed (1 check, 68.0\u00a0ms).",
  );
});

test("a category is named when its limit was passed", () => {
  const flagged = said(check("flag", score("hate", 0.1, "allow"), score("violence", 0.7, "flag")));
  expect(flagged).toContain("flagged, but allowed (violence: score 0.70, over the limit of 0.60");
});

test("where help came first, the score that would have blocked did not decide", () => {
  const helped = check("flag", score("violence", 0.85, "block"), score("self_harm", 0.97, "flag"));
  expect(worstScore(helped)?.category).toBe("self_harm");
});
