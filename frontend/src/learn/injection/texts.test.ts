import { expect, it } from "vitest";
import { MAX_CHARS, revealed, TEXTS } from "./texts";

const told = (text: string) =>
  revealed(text).map(({ text, isInvisible }) => (isInvisible ? `[${text}]` : text));

it("shows each invisible character in its place, and what tags spell", () => {
  expect(told("a\u200bb\u202ec")).toEqual(["a", "[U+200B]", "b", "[U+202E]", "c"]);
  expect(told("x\u{e0048}\u{e0069}y")).toEqual(["x", "[tags Hi]", "y"]);
  expect(told("\u{e0001}")).toEqual(["[U+E0001]"]);
});

it("leaves an honest text alone", () => {
  expect(told("Grüße, 世界 🐱")).toEqual(["Grüße, 世界 🐱"]);
  expect(revealed("")).toEqual([]);
});

it("has texts that the server takes", () => {
  for (const { text } of TEXTS) expect([...text].length).toBeLessThanOrEqual(MAX_CHARS);
});
