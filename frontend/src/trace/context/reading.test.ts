import { expect, it } from "vitest";
import type { AnyEvent, GenerationForked } from "../../protocol/events";
import { REDACTED_TEXT } from "../bytes";
import { foldAll } from "../fixtures";
import { keptWords, messageLength, messageOf } from "./reading";

const CHECKED = {
  type: "safety.checked",
  layer: "input",
  start: 0,
  end: 87,
  scores: [],
} as unknown as AnyEvent;
const context = (text: string) =>
  ({
    type: "context.assembled",
    segments: [
      { kind: "system", start: 0, end: 9, text: "Be brief." },
      { kind: "user", start: 9, end: 20, text },
    ],
  }) as unknown as AnyEvent;

it("tells the message's own length, not that of the text that was checked with it", () => {
  const said = (events: AnyEvent[]) => messageLength(foldAll(events), messageOf(foldAll(events)));
  expect(said([CHECKED, context("Hello 🌊!")])).toBe("The message, 8 characters");
  expect(said([CHECKED])).toBe("System prompt and message, 87 characters together");
  expect(said([CHECKED, context(REDACTED_TEXT)])).toBe("System prompt and message, 87 characters together");
  expect(said([])).toBe("The message");
});

it("counts what a fork kept apart from what was put in the place of the next", () => {
  const words = (num: number, position: number) =>
    keptWords({ ids: Array.from({ length: num }, (_, id) => id), position } as unknown as GenerationForked);
  expect(words(67, 66)).toBe("66 tokens kept from another answer and 1 that a person chose or wrote");
  expect(words(5, 5)).toBe("5 tokens kept from another answer");
  expect(words(2, 0)).toBe("2 tokens that a person chose or wrote");
});
