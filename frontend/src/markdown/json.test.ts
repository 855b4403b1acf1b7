// @vitest-environment jsdom
import { expect, it } from "vitest";
import { IncrementalMarkdown } from "./incremental";
import { asCode, isJson } from "./json";

it.each([
  ['{"a": [1, 2]}', true],
  ['\n[\n  "a"\n]\n', true],
  ["42", false],
  ["[1] is a footnote.", false],
  ['{"a": [1', false],
  ["", false],
])("tells whether %j is JSON", (text, expected) => expect(isJson(text)).toBe(expected));

it("keeps the lines of an answer that grows, and its indentation", () => {
  const markdown = new IncrementalMarkdown();
  const whole = '{\n    "name": "*Ada*",\n    "tags": []\n}';
  for (let end = 1; end <= whole.length; end++) {
    const shown = document.createElement("div");
    shown.innerHTML = markdown.update(asCode(whole.slice(0, end))).join("");
    const [code, ...more] = shown.querySelectorAll("pre");
    expect(more).toEqual([]);
    expect(code!.textContent.trimEnd()).toBe(whole.slice(0, end).trimEnd());
  }
});
