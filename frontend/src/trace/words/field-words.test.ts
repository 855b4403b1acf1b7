import { expect, it } from "vitest";
import type { AnyEvent } from "../../protocol/events";
import { fieldWords } from "./field-words";
import { token } from "../fixtures";

it("tells a token as its text and its place from 1, with names in words and units", () => {
  const words = new Map(fieldWords({ ...token(16, 1), piece: btoa(" that"), batch_size: null }));
  expect(words.get("text")).toBe("·that");
  expect(words.get("token")).toBe("17");
  expect(words.get("control token")).toBe("no");
  expect(words.get("step")).toBe("10.0\u00a0ms");
  expect(words.get("batch size")).toBe("not recorded");
  expect(words.get("candidates")).toBe("·a, b, c");
  expect([...words.keys()].some((name) => name.includes("_"))).toBe(false);
});

it("tells the scores of a check, and where its text begins", () => {
  const score = { category: "self_harm", score: 0.12345, threshold: 0.5, verdict: "allow" };
  const event = { type: "safety.checked", at: 1, start: 0, end: 9, buffered_us: 1500, scores: [score] };
  expect(fieldWords(event as unknown as AnyEvent)).toEqual([
    ["start", "1"],
    ["end", "9"],
    ["buffered", "1.5\u00a0ms"],
    ["scores", "self harm: score 0.1235; threshold 0.5; verdict allow"],
  ]);
});
