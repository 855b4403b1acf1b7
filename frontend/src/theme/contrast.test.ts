/** Each colour that text has can be read on each surface that text stands on, in both themes. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { contrast } from "./luminance";

const SOURCES = `${import.meta.dirname}/..`;
const [LIGHT, DARK] = readFileSync(`${import.meta.dirname}/theme.css`, "utf8").split('[data-theme="dark"]');
const AA = 4.5;
const TEXTS = ["ink", "soft", "faint", "accent", "danger"];
const SURFACES = ["paper", "raised", "wash"];
/** Text on a button, a mark or a bar that is filled. */
const FILLED = [
  ["accent-ink", "accent"],
  ["paper", "ink"],
  ["paper", "danger"],
];
/** A colour that its own test holds, or that the element around decides. */
const ELSEWHERE = /^(inherit|var\(--(code-\w+|paper|accent-ink|text|hue)\)|oklch\(0\.65 0\.14 75\))$/;

describe.each([
  ["light", LIGHT!],
  ["dark", DARK!],
])("the %s theme", (_, css) => {
  const token = (name: string) => {
    const hex = new RegExp(`--${name}: #(\\w{6})`).exec(css)![1]!;
    return [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16));
  };

  it.each(TEXTS.flatMap((text) => SURFACES.map((surface) => [text, surface])))(
    "lets %s be read on %s",
    (text, on) => expect(contrast(token(text!), token(on!))).toBeGreaterThanOrEqual(AA),
  );

  it.each(FILLED)("lets %s be read on %s", (text, on) =>
    expect(contrast(token(text!), token(on!))).toBeGreaterThanOrEqual(AA),
  );
});

/** Of a component or a style sheet. */
const styleOf = (file: string) => {
  const text = readFileSync(`${SOURCES}/${file}`, "utf8");
  return file.endsWith(".css") ? text : (text.split("<style>")[1] ?? "");
};

it("knows each colour that a style gives to text", () => {
  const known = new RegExp(`^var\\(--(${TEXTS.join("|")})\\)$`);
  const files = readdirSync(SOURCES, { recursive: true, encoding: "utf8" });
  const colors = files
    .filter((file) => /\.(svelte|css)$/.test(file))
    .flatMap((file) => [...styleOf(file).matchAll(/^\s*color: ([^;]+);$/gm)].map((match) => match[1]!));
  expect(colors.length).toBeGreaterThan(0);
  expect(colors.filter((color) => !known.test(color) && !ELSEWHERE.test(color))).toEqual([]);
});
