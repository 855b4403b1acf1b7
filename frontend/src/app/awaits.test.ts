import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const SOURCES = new URL("../", `file://${import.meta.dirname}/`).pathname;

it("says what is shown instead of each part that cannot be fetched, as it is offline", () => {
  const files = readdirSync(SOURCES, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".svelte"),
  );
  const awaits = files.flatMap((file) =>
    [...readFileSync(SOURCES + file, "utf8").matchAll(/\{#await [\s\S]*?\{\/await\}/g)].map(([block]) => ({
      file,
      block,
    })),
  );
  expect(awaits.length).toBeGreaterThan(20);
  expect(awaits.filter(({ block }) => !block.includes("{:catch")).map(({ file }) => file)).toEqual([]);
});
