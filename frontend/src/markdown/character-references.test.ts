// @vitest-environment jsdom
import fc from "fast-check";
import { decodeHTMLStrict as known } from "entities";
import { expect, test } from "vitest";
import { decodeHTMLStrict } from "./character-references";

/** As markdown-it finds them. */
const NAMES = [
  "amp",
  "lt",
  "nbsp",
  "copy",
  "auml",
  "NewLine",
  "Tab",
  "CounterClockwiseContourIntegral",
  "bne",
  "semi",
];
const reference = fc.oneof(
  fc.constantFrom(...NAMES).map((name) => `&${name};`),
  fc.stringMatching(/^&[A-Za-z][A-Za-z0-9]{1,31};$/),
);

test("a character reference is decoded as by the package that it stands for", () => {
  fc.assert(
    fc.property(reference, (text) => {
      expect(decodeHTMLStrict(text)).toBe(known(text));
    }),
  );
});

test("what is no reference stays text", () => {
  expect(decodeHTMLStrict("&nothingofthekind;")).toBe("&nothingofthekind;");
  expect(decodeHTMLStrict("&notit;")).toBe("&notit;");
});
