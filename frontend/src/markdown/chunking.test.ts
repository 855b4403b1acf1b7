// @vitest-environment jsdom
/** However a text is cut, the streamed blocks are the HTML of the whole: tried on random documents and random cuts. */
import { expect, it } from "vitest";
import { IncrementalMarkdown } from "./incremental";
import { renderMarkdown, toHtml } from "./render";

const LINES = [
  "# Title",
  "Plain text with **bold**, `code` and [a link][ref].",
  "#hash",
  "===",
  "---",
  "-",
  "- item",
  "  continued",
  "    deep",
  "1. first",
  "2",
  "2. second",
  "* star",
  "> quote",
  ">",
  "```python",
  "```",
  "~~~",
  "| a | b |",
  "| - | - |",
  "[ref]: https://example.com/a",
  "[ref]: https://example.com/b 'tit",
  "le'",
  "x[0]: 1",
  "<b>html</b>",
  "![alt](https://example.com/x.png)",
  "https://example.com/page",
  "main.py 🙂 été",
  "\tindented",
  "- [ ] to do",
  "- [x] done",
  "A sum of $a_1 + b$ and \\(x\\), $5 and $10.",
  "$$",
  "$$ x^2 $$",
  "\\[",
  "+ y \\]",
  "\\frac{a}{b} = c",
  "",
  "",
  "",
  "",
  "\r",
];

/** Mulberry32: the same documents in every run. */
function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

function streamed(text: string, pick: (below: number) => number): { blocks: string[]; at: string } {
  const markdown = new IncrementalMarkdown(toHtml);
  for (let end = 0; end < text.length;) {
    end = Math.min(text.length, end + 1 + pick(12));
    const prefix = text.slice(0, end);
    const blocks = markdown.update(prefix);
    if (blocks.join("") !== toHtml(prefix)) return { blocks, at: prefix };
  }
  return { blocks: markdown.update(text), at: text };
}

it("is at every moment the HTML of the text so far", () => {
  for (let seed = 0; seed < 600; seed += 1) {
    const pick = generator(seed);
    const text = Array.from({ length: 2 + pick(14) }, () => LINES[pick(LINES.length)]).join("\n");
    const { blocks, at } = streamed(text, pick);
    expect(blocks.join(""), JSON.stringify(at)).toBe(toHtml(at));
  }
}, 30_000);

it("resolves a link whose definition comes last, and keeps the first of two definitions", () => {
  const markdown = new IncrementalMarkdown();
  markdown.update("See [it][ref].\n\nMore.\n\n");
  const late = markdown.update(
    "See [it][ref].\n\nMore.\n\n[ref]: https://example.com/a\n\nEnd [ref].\n\n[ref]: /b\n",
  );
  expect(late[0]).toContain('href="https://example.com/a"');
  expect(late.join("")).not.toContain('href="/b"');
});

it("shows an image as a link, so that nothing is fetched", () => {
  expect(renderMarkdown("![a <b>](https://example.com/x.png)")).toBe(
    '<p><a href="https://example.com/x.png" target="_blank" rel="noopener noreferrer nofollow">a &lt;b&gt;</a></p>\n',
  );
});

it.each([
  "[x](vbscript:a)",
  "[x](JaVaScRiPt:a)",
  "![x](data:image/png;base64,AAAA)",
  "[x](file:///etc/passwd)",
])("gives no address to %s", (text) => {
  const host = document.createElement("div");
  host.innerHTML = renderMarkdown(text);
  expect(host.querySelector("[href], [src]")).toBeNull();
});
