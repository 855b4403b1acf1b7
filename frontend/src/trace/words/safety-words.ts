/** A check in words: its scores beside their limits, and the effect of its verdict. */
import type { Disguise, SafetyChecked, SafetyScore } from "../../protocol/events";
import { counted } from "../format";
import type { Verdict } from "../verdicts";

const SEVERITY: Record<Verdict, number> = { allow: 0, flag: 1, rewrite: 2, block: 3 };

/** The score that decided, as inference/safety/guard.py picks it; null: nothing was scored. */
export const worstScore = (check: SafetyChecked): SafetyScore | null => worstOf([check]);

export function worstOf(checks: SafetyChecked[]): SafetyScore | null {
  // With help first (policy.toml), a check is milder than one of its scores, which then did not decide.
  const scores = checks.flatMap(({ scores, verdict }) =>
    scores.filter((score) => SEVERITY[score.verdict] <= SEVERITY[verdict]),
  );
  const [first] = scores.sort((a, b) => SEVERITY[b.verdict] - SEVERITY[a.verdict] || b.score - a.score);
  return first ?? null;
}

/** "score 0.97, over the limit of 0.60"; as many digits as tell the two apart. */
export function scoreWords({ score, threshold }: Pick<SafetyScore, "score" | "threshold">): string {
  const areAlike = score !== threshold && score.toFixed(2) === threshold.toFixed(2);
  const digits = areAlike ? 4 : 2;
  const where = score > threshold ? "over" : score === threshold ? "at" : "under";
  return `score ${score.toFixed(digits)}, ${where} the limit of ${threshold.toFixed(digits)}`;
}

const CATEGORIES: Record<string, string> = { pii: "personal data", secret: "password or key" };
export const categoryWords = (category: string): string =>
  CATEGORIES[category] ?? category.replaceAll("_", " ");

/** "2 zero-width characters". */
export function disguiseWords({ kind, num }: Disguise): string {
  const names: Record<Disguise["kind"], string> = {
    homoglyph: "lookalike letter",
    compatibility: "letter in another form",
    zero_width: "zero-width character",
    bidi: "direction mark",
    tag: "hidden tag character",
  };
  return kind === "compatibility"
    ? counted(num, names[kind], "letters in another form")
    : counted(num, names[kind]);
}

/** With its category: "violence: score 0.97, over the limit of 0.60". */
export function judged(score: SafetyScore | null): string {
  return score ? `${categoryWords(score.category)}: ${scoreWords(score)}` : "no score recorded";
}

/** The effect of a verdict on the text. */
export const VERDICT_EFFECTS: Record<SafetyChecked["layer"], Record<Verdict, string>> = {
  input: {
    allow: "It went on to the model.",
    flag: "It went on to the model with a flag. The library can filter for flags.",
    rewrite: "The check rewrote it, and it went on to the model.",
    block: "No model read it.",
  },
  output: {
    allow: "The check released the text.",
    flag: "The check released the text with a flag. The library can filter for flags.",
    rewrite: "The check rewrote the text and released it.",
    block: "The check withheld the text, and the answer ended here.",
  },
  refusal: {
    allow: "The model refused by itself. No check changed the text.",
    flag: "The model refused by itself. No check changed the text.",
    rewrite: "The model refused by itself. No check changed the text.",
    block: "The model refused by itself. No check changed the text.",
  },
  tool_result: {
    allow: "The model got it.",
    flag: "The model got it with a flag. The library can filter for flags.",
    rewrite: "The check rewrote it, and the model got it.",
    block: "The model did not get it.",
  },
};
