// @vitest-environment jsdom
import { expect, it } from "vitest";
import { IncrementalMarkdown, renderMarkdown } from "./incremental";

const TEXT = `# Title

A paragraph with **bold** and \`code\`.

- one
- two

  still two

\`\`\`python
print("a")

print("b")
\`\`\`

| a | b |
| - | - |
| 1 | 2 |

Last one.`;

it.each([1, 3, 7, 50])("ends in the same HTML as rendering at once, in steps of %i characters", (step) => {
  const markdown = new IncrementalMarkdown();
  let blocks: string[] = [];
  for (let end = step; end < TEXT.length + step; end += step) blocks = markdown.update(TEXT.slice(0, end));
  expect(blocks.join("")).toBe(renderMarkdown(TEXT));
  expect(blocks.length).toBeGreaterThan(3);
});

it("does not touch finished blocks again", () => {
  const markdown = new IncrementalMarkdown();
  const first = markdown.update("One.\n\nTwo.\n\nThr")[0];
  expect(markdown.update("One.\n\nTwo.\n\nThree and more.")[0]).toBe(first);
});

it.each([
  "[x](javascript:alert(1))",
  "[x](data:text/html,<script>alert(1)</script>)",
  "<script>alert(1)</script>",
  '<img src=x onerror="alert(1)">',
  "![x](https://example.com/pixel.png)",
  "<iframe src=//example.com></iframe>",
  '<a href="#" onclick="alert(1)">x</a>',
])("disarms %s", (text) => {
  const host = document.createElement("div");
  host.innerHTML = renderMarkdown(text);
  expect(host.querySelector("script, img, iframe, [onclick], [onerror]")).toBeNull();
  for (const link of host.querySelectorAll("a")) expect(link.protocol).not.toMatch(/javascript|data/);
});
