/** Each colour of code can be read in both themes. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { contrast } from "../theme/luminance";

const read = (file: string) =>
  readFileSync(`${import.meta.dirname}/${file}`, "utf8").split('[data-theme="dark"]');
const hex = (color: string) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));

it.each(["light", "dark"] as const)("lets every colour of code be read in the %s theme", (theme) => {
  const part = theme === "light" ? 0 : 1;
  const wash = hex(/--wash: (#\w{6})/.exec(read("../theme/theme.css")[part]!)![1]!);
  const colors = [...read("highlight.css")[part]!.matchAll(/--code-\w+: (#\w{6})/g)].map(
    (match) => match[1]!,
  );
  expect(colors).toHaveLength(6);
  for (const color of colors) expect(contrast(hex(color), wash), color).toBeGreaterThanOrEqual(4.5);
});
