// @vitest-environment jsdom
/** Checks which dollars are formulas, and that a formula reads the same however its text arrives. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { IncrementalMarkdown } from "./incremental";
import { highlighted, fetchGrammar } from "./highlight";
import { typeset } from "./math";
import type { Parts } from "./parts";
import { renderMarkdown, toHtml } from "./render";

const PARTS: Parts = { formula: typeset, code: highlighted };
const whole = (text: string, parts = PARTS) => renderMarkdown(text, { references: {}, parts });

function shown(text: string): HTMLElement {
  const host = document.createElement("div");
  host.innerHTML = whole(text);
  return host;
}
const sources = (text: string) =>
  [...shown(text).querySelectorAll("[data-source]")].map((each) => each.getAttribute("data-source"));

it.each([
  ["So $a^2+b^2=c^2$ holds.", ["$a^2+b^2=c^2$"]],
  ["A number: $5$.", ["$5$"]],
  ["$$\n\\int_0^1 x\n- y\n+ z\n$$", ["$$\n\\int_0^1 x\n- y\n+ z\n$$"]],
  ["Here \\(x\\) and \\[y\\]", ["\\(x\\)", "\\[y\\]"]],
  ["1. first\n\n   $$\n   x\n   $$\n2. second", ["$$\nx\n$$"]],
  ["> $$ a $$", ["$$ a $$"]],
  ["| $a$ | b |\n| - | - |\n| c | $d$ |", ["$a$", "$d$"]],
  ["**$x$**", ["$x$"]],
])("sets the formulas of %j", (text, expected) => expect(sources(text)).toEqual(expected));

it.each([
  "It costs $5 and $10.",
  "Between $5 and 10$ a piece.",
  "US$5 or CA$6",
  "from $5-$10",
  "$5,000.50 and more; $x",
  "\\$a\\$",
  "`$a$` and `\\(b\\)`",
  "```\n$$x$$\n```",
  "an open $a + b",
  "$ a $",
  "$$\n\n$$",
  "$$ a\n\nb $$",
  "a$b$c",
  `$${"x".repeat(2001)}$`,
])("leaves %j as text", (text) => expect(sources(text)).toEqual([]));

it("shows what cannot be set as it was written", () => {
  expect(shown("Broken $\\frac{a$ and $\\nonsense$.").textContent).toContain("$\\frac{a$ and $\\nonsense$.");
});

it("keeps an unfinished formula as text until it is closed", () => {
  const markdown = new IncrementalMarkdown(renderMarkdown, PARTS);
  expect(markdown.update("See $x^2").join("")).toBe("<p>See $x^2</p>\n");
  expect(markdown.update("See $x^2$").join("")).toContain("katex");
});

const LINES = [
  "A sum $a_1 + b$ and \\(x^2\\), $5 and $10.",
  "$$",
  "$$ x^2 $$",
  "\\[",
  "+ y \\]",
  "\\frac{a}{b} = c",
  "```python",
  "```",
  "def f(x): return x",
  "- [ ] to do",
  "- [x] done $z$",
  "> quote",
  "| a | $b$ |",
  "| - | - |",
  "",
  "",
];

it("is the HTML of the whole text, however it is cut", async () => {
  await fetchGrammar("python");
  const texts = fc.array(fc.constantFrom(...LINES), { minLength: 1, maxLength: 12 });
  const cuts = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 });
  fc.assert(
    fc.property(texts, cuts, (lines, steps) => {
      const text = lines.join("\n");
      const markdown = new IncrementalMarkdown(toHtml, PARTS);
      let blocks: string[] = [];
      for (let end = 0, step = 0; end < text.length; step++) {
        end = Math.min(text.length, end + steps[step % steps.length]!);
        blocks = markdown.update(text.slice(0, end));
      }
      expect(blocks.join("")).toBe(text ? toHtml(text, { references: {}, parts: PARTS }) : "");
    }),
    { numRuns: 150 },
  );
}, 60_000);

describe("hostile formulas", () => {
  it.each([
    "$\\href{javascript:alert(1)}{x}$",
    "$\\url{javascript:alert(1)}$",
    "$\\includegraphics{https://example.com/x.png}$",
    "$\\htmlClass{number}{x}$",
    "$\\htmlId{app}{x}$",
    "$\\htmlStyle{position:fixed;inset:0}{x}$",
    "$\\htmlData{copy=1}{x}$",
    "$\\text{<script>alert(1)</script><img src=x onerror=alert(1)>}$",
    '$x" onmouseover="alert(1)$',
    "$$\n<iframe src=//example.com></iframe>\n$$",
  ])("disarms %s", (text) => {
    const host = shown(text);
    expect(host.querySelector("script, img, iframe, a, [id], [onerror], [onmouseover], .number")).toBeNull();
    expect(host.querySelector("[data-copy], [style*=fixed]")).toBeNull();
  });

  it("ends a macro that calls itself, and shows it as text", () => {
    expect(sources("$\\def\\a{\\a\\a}\\a$ $\\def\\b{x\\b}\\b$")).toEqual([]);
  });

  it("keeps no macro from one formula to the next", () => {
    expect(sources("$\\gdef\\zz{y}\\zz$ $\\zz$")).toEqual(["$\\gdef\\zz{y}\\zz$"]);
  });

  it("makes no box larger than a page", () => {
    const formula = shown("$\\rule{9999em}{9999em}$").querySelector(".formula")!;
    const sizes = [...formula.innerHTML.matchAll(/([\d.]+)em/g)].map(([, size]) => Number(size));
    expect(sizes.length).toBeGreaterThan(0);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(20);
  });

  it("searches a long text for the end of a formula only so far", () => {
    const text = "$$ a\n".repeat(20_000);
    expect(toHtml(text).length).toBeGreaterThan(text.length);
  }, 20_000);
});

describe("code", () => {
  it("has its language, a button and colours; its own text is what it was", async () => {
    await fetchGrammar("python");
    const host = shown("```py title\nprint('<b>')  # done\n```");
    expect(host.querySelector("figcaption span")!.textContent).toBe("py");
    expect(host.querySelector("button[data-copy]")!.textContent).toBe("Copy");
    expect(host.querySelector(".hljs-comment")!.textContent).toBe("# done");
    expect(host.querySelector("code")!.textContent).toBe("print('<b>')  # done\n");
  });

  it("is coloured when it is finished: by what follows it, or by the answer's end", async () => {
    await fetchGrammar("python");
    const markdown = new IncrementalMarkdown(renderMarkdown, PARTS);
    const open = "- a list\n  ```python\n  x = 1\n";
    expect(markdown.update(open, true).join("")).not.toContain("hljs");
    expect(markdown.update(open, false).join("")).toContain("hljs-number");
    expect(markdown.update(`${open}  \`\`\`\n  after`, true).join("")).toContain("hljs-number");
  });

  it.each(["constructor", "__proto__", "nonsense", '"><img src=x onerror=alert(1)>'])(
    "takes %s for a language without a grammar",
    async (language) => {
      await fetchGrammar(language);
      const host = shown(`\`\`\`${language}\nx = 1\n\`\`\``);
      expect(host.querySelector("code")!.innerHTML).toBe("x = 1\n");
      expect(host.querySelector("img, [onerror]")).toBeNull();
    },
  );
});

it("shows a task as a box that cannot be changed", () => {
  const boxes = [...shown("- [ ] one\n- [x] two\n- [ ]\n- plain").querySelectorAll("input")];
  expect(boxes.map(({ type, disabled, checked }) => [type, disabled, checked])).toEqual([
    ["checkbox", true, false],
    ["checkbox", true, true],
  ]);
});

it("gives headings of the model's the place below the page's own", () => {
  const host = shown("# One\n\nTwo\n---\n\n###### Six");
  expect([...host.children].map(({ tagName }) => tagName)).toEqual(["H3", "H4", "H6"]);
});
