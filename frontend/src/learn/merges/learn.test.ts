import fc from "fast-check";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { buildCutter, fromByteAlphabet, type Definition } from "../../tokenizer/cutter";
import small from "../tokenizer/small-bpe.json";
import { joinsOf, learn, ranksOf, wordsOf } from "./learn";

const GOLDEN = JSON.parse(
  readFileSync(new URL("../../../../tests/golden/merges.json", `file://${import.meta.dirname}/`), "utf8"),
) as { text: string; merges: [string, string][] }[];

it.each(GOLDEN)("learns what the tokenizers library learns: $text", ({ text, merges }) => {
  expect(learn(text, 1000).merges.map(({ left, right }) => [left, right])).toEqual(merges);
});

it("loses no byte at any round, and has fewer pieces after each merge", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 60 }), fc.nat(20), (text, most) => {
      const { merges, rounds } = learn(text, most);
      expect(rounds).toHaveLength(merges.length + 1);
      let last = Infinity;
      for (const { words } of rounds) {
        const bytes = fromByteAlphabet(words.flat().join(""));
        expect([...bytes]).toEqual([...new TextEncoder().encode(text)]);
        expect(words.flat().length).toBeLessThan(last + (last === Infinity ? 1 : 0));
        last = words.flat().length;
      }
    }),
  );
});

it("cuts a word as the model's tokenizer does, by the list's own joins", () => {
  const definition = small as unknown as Definition;
  const cutter = buildCutter(definition);
  const ranks = ranksOf(definition.model.merges!);
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom(..."abcdehilnorstu"), minLength: 1, maxLength: 14 }),
      (word) => {
        const [bytes] = wordsOf(word);
        const pieces = joinsOf(bytes!, ranks).at(-1)?.pieces ?? bytes!;
        expect(pieces).toEqual(cutter.cut(word).map(({ label }) => label));
      },
    ),
  );
});

it("joins the pair that was learnt first, wherever it stands", () => {
  const ranks = ranksOf([["b", "c"], "a b", ["a", "bc"]]);
  expect(joinsOf([..."abc"], ranks)).toEqual([
    { left: "b", right: "c", rank: 0, pieces: ["a", "bc"] },
    { left: "a", right: "bc", rank: 2, pieces: ["abc"] },
  ]);
});
