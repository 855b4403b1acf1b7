import { expect, it } from "vitest";
import { SCENES } from "../../trace/journey/scenes";
import { exhibitOf } from "./entrances";
import { PANELS } from "../panels";
import { TERMS, type Term } from "../../trace/words/terms";

it("leads from every scene of the journey to an exhibit, each to another", () => {
  const exhibits = SCENES.map(({ id }) => exhibitOf(id));
  expect(exhibits).not.toContain(null);
  expect(new Set(exhibits).size).toBe(SCENES.length);
});

it("leads from each panel that shows a mechanism to an exhibit that its words lead to as well", () => {
  const named = new Set(Object.values(TERMS).map(({ exhibit }: Term) => exhibit));
  for (const { name } of PANELS) {
    const exhibit = exhibitOf(name);
    if (exhibit) expect(named.has(exhibit) || exhibit === "loop").toBe(true);
  }
  expect(exhibitOf("Cache")).toBe("cache");
  expect(exhibitOf("Events")).toBeNull();
});
