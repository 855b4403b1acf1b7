import { expect, it } from "vitest";
import type { AnyEvent, TokenSampled } from "../protocol/events";
import { joinedLabels, REDACTED_PIECE } from "./bytes";
import { foldAll, token } from "./fixtures";
import { idText, tokenName } from "./token-name";

const prompt = (piece: string) =>
  ({
    type: "prompt.tokenized",
    at: 1,
    ids: [7, 2],
    pieces: [piece, btoa("<|im_end|>")],
    special: [1],
  }) as unknown as AnyEvent;
const END: TokenSampled = { ...token(1, 9), id: 2, piece: "", is_special: true };

it("has one name for the token that ends an answer, wherever it is a candidate", () => {
  const ended = foldAll([prompt(btoa("a")), token(0, 8), END]);
  expect([tokenName(ended, 2, ""), tokenName(ended, 2, btoa("<|im_end|>"))]).toEqual([
    "end of turn",
    "end of turn",
  ]);
  const stopped = foldAll([prompt(btoa("a")), token(0, 8)]);
  expect([tokenName(stopped, 2, ""), tokenName(stopped, 2, btoa("<|im_end|>"))]).toEqual([
    "end of turn",
    "end of turn",
  ]);
  expect([tokenName(stopped, 3, ""), tokenName(stopped, 3, "", { ...END, id: 3 })]).toEqual([
    "control 3",
    "end of turn",
  ]);
  expect([tokenName(stopped, 7, btoa(" a")), idText(stopped, 7)]).toEqual(["·a", "7"]);
});

it("tells no id and no token of a redacted trace", () => {
  const redacted = foldAll([prompt(REDACTED_PIECE), { ...token(0, 8), piece: REDACTED_PIECE }]);
  expect([
    tokenName(redacted, 100_000, ""),
    tokenName(redacted, 0, REDACTED_PIECE),
    idText(redacted, 0),
  ]).toEqual(["hidden", "hidden", "hidden"]);
  expect(joinedLabels([REDACTED_PIECE, REDACTED_PIECE])).toBe("▮ ▮ ");
});
