import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, it } from "vitest";
import small from "../learn/tokenizer/small-bpe.json";
import { buildCutter, byteByByte, characters, type Piece } from "./cutter";

const { cut } = buildCutter(small);

const textOf = (pieces: Piece[]) =>
  new TextDecoder().decode(Uint8Array.from(pieces.flatMap(({ bytes }) => [...bytes!])));

it("keeps every byte of the text, whatever it is", () => {
  const text = fc.string({ unit: "grapheme", maxLength: 60 });
  fc.assert(
    fc.property(text, (text) => {
      for (const cutter of [{ cut }, characters, byteByByte]) expect(textOf(cutter.cut(text))).toBe(text);
    }),
  );
});

it("joins what its corpus had often, and spells the rest", () => {
  expect(cut("the tokenizer").map(({ label }) => label)).toEqual(["the", "·tokenizer"]);
  expect(cut("日").map(({ label }) => label)).toEqual(["‹E6›", "‹97›", "‹A5›"]);
  expect(characters.cut("日本").map(({ id }) => id)).toEqual([0x65e5, 0x672c]);
});

it("writes a control token only where it is told to", () => {
  const added = JSON.parse(
    readFileSync(`${import.meta.dirname}/../learn/tokenizer/small-bpe.json`, "utf8"),
  ) as typeof small;
  const definition = { ...added, added_tokens: [{ id: 5000, content: "<|end|>", special: true }] };
  expect(buildCutter(definition).cut("a<|end|>").length).toBeGreaterThan(2);
  expect(
    buildCutter(definition, true)
      .cut("a<|end|>")
      .map(({ id, label }) => [id, label]),
  ).toContainEqual([5000, "<|end|>"]);
});
