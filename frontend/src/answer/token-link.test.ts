// @vitest-environment jsdom
import fc from "fast-check";
import { expect, it } from "vitest";
import type { TokenSampled } from "../protocol/events";
import { IncrementalMarkdown } from "../markdown/incremental";
import { typeset } from "../markdown/math";
import { renderMarkdown } from "../markdown/render";
import { Alignment, RenderedTokens } from "./token-link";

function tokens(...pieces: (string | number[])[]): TokenSampled[] {
  return pieces.map((piece, position) => {
    const bytes = typeof piece === "string" ? new TextEncoder().encode(piece) : Uint8Array.from(piece);
    return { position, piece: btoa(String.fromCharCode(...bytes)) } as TokenSampled;
  });
}

function shown(text: string, sampled: TokenSampled[]): { host: HTMLElement; rendered: RenderedTokens } {
  const host = document.createElement("div");
  host.innerHTML = new IncrementalMarkdown().update(text).join("");
  return { host, rendered: new RenderedTokens(host, sampled) };
}

it("finds each token in the rendered text and skips Markdown's signs", () => {
  const sampled = tokens("**", "The", " the", "**", " capital", "\n\n", "-", " the", " end");
  const { rendered } = shown("**The the** capital\n\n- the end", sampled);
  const found = sampled.map(({ position }) => rendered.rangeOf(position)?.toString() ?? null);
  expect(found).toEqual([null, "The", "the", null, "capital", null, null, "the", "end"]);
});

it("gives a character split over tokens to the token that completes it", () => {
  const { rendered } = shown("a 🙂 b", tokens("a", [0x20, 0xf0, 0x9f], [0x99, 0x82], " b"));
  expect(rendered.rangeOf(1)).toBeNull();
  expect(rendered.rangeOf(2)?.toString()).toBe("🙂");
  expect(rendered.rangeOf(3)?.toString()).toBe("b");
});

it("leads from a character back to its token", () => {
  const { host, rendered } = shown("**Par**is, France", tokens("**", "Par", "**", "is", ",", " France"));
  const [bold, plain] = [
    host.querySelector("strong")!.firstChild!,
    host.querySelector("strong")!.nextSibling!,
  ];
  expect(rendered.positionAt(bold, 1)).toBe(1);
  expect(rendered.positionAt(plain, 0)).toBe(3);
  expect(rendered.positionAt(plain, 2)).toBe(4);
  expect(rendered.positionAt(plain, 6)).toBe(5);
  expect(rendered.positionAt(host, 0)).toBeNull();
});

it("finds its way again after an address that is not shown", () => {
  const sampled = tokens(
    "[",
    "here",
    "](",
    "https",
    "://",
    "example",
    ".com",
    "/here",
    ")",
    " and",
    " there",
  );
  const { rendered } = shown("[here](https://example.com/here) and there", sampled);
  expect(rendered.rangeOf(9)?.toString()).toBe("and");
  expect(rendered.rangeOf(10)?.toString()).toBe("there");
});

it("finds the same places in a text that grows as in the whole of it", () => {
  const word = fc.constantFrom(" the", " a", "the", "**", "\n\n", ".", " lighthouse", "- ", "x");
  fc.assert(
    fc.property(
      fc.array(word, { maxLength: 40 }),
      fc.infiniteStream(fc.nat({ max: 5 })),
      (words, strides) => {
        const pieces = tokens(...words);
        const growing = new Alignment();
        for (let num = 0; num < words.length; num += 1 + strides.next().value!)
          growing.update(words.slice(0, num).join(""), pieces.slice(0, num));
        growing.update(words.join(""), pieces);
        const whole = new Alignment();
        whole.update(words.join(""), pieces);
        expect(growing.places).toEqual(whole.places);
      },
    ),
  );
});

it("finds a token again after the text before it was rendered anew", () => {
  const sampled = tokens("**", "Par", "**", " is");
  const { host, rendered } = shown("**Par", sampled.slice(0, 2));
  host.innerHTML = new IncrementalMarkdown().update("**Par** is").join("");
  rendered.update(sampled);
  expect(rendered.rangeOf(1)?.toString()).toBe("Par");
  expect(rendered.rangeOf(3)?.toString()).toBe("is");
});

it("goes from a token that is not rendered to its rendered neighbours, and stops at the ends", () => {
  const { rendered } = shown("**Par** is", tokens("**", "Par", "**", " is"));
  expect(rendered.neighbour(null, 1)).toBe(1);
  expect(rendered.neighbour(2, 1)).toBe(3);
  expect(rendered.neighbour(3, 1)).toBe(3);
  expect(rendered.neighbour(3, -Infinity)).toBe(1);
});

it("takes a formula as a whole, and finds its way after it", () => {
  const pieces = ["So", " $", "x", "^", "2", "$", " is", " x", " squared"];
  const host = document.createElement("div");
  host.innerHTML = renderMarkdown(pieces.join(""), {
    references: {},
    parts: { formula: typeset, code: () => null },
  });
  const rendered = new RenderedTokens(host, tokens(...pieces));
  const formula = host.querySelector(".formula")!;
  expect(rendered.rangeOf(3)!.startContainer).toBe(formula);
  expect(rendered.rangeOf(3)!.endContainer).toBe(formula);
  expect(rendered.rangeOf(7)!.toString()).toBe("x");
  expect(rendered.positionAt(formula.querySelector(".katex-html .mord")!.firstChild!, 0)).toBe(1);
});

it("leaves out what stands beside code", () => {
  const pieces = ["```", "py", "\n", "Copy", " =", " py", "\n", "```"];
  const { rendered } = shown(pieces.join(""), tokens(...pieces));
  const found = [3, 4, 5].map((position) => rendered.rangeOf(position)!);
  expect(found.map(String)).toEqual(["Copy", "=", "py"]);
  expect(found.every(({ startContainer }) => startContainer.parentElement!.closest("code"))).toBe(true);
});
