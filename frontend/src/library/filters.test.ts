import { expect, it } from "vitest";
import {
  areEqual,
  changed,
  conditionsOf,
  filtersOf,
  fromApi,
  inWords,
  namesMoney,
  offered,
  RANGES,
  toApi,
  unfiltered,
  unitOf,
  without,
  withTag,
} from "./filters";

it("changes one condition and leaves the others", () => {
  const query = "status=failed&q=a+%26+b&tag=x&tag=y";
  expect(changed(query, "status", "done")).toBe("q=a+%26+b&tag=x&tag=y&status=done");
  expect(changed(query, "status", "")).toBe("q=a+%26+b&tag=x&tag=y");
  expect(without(query, ["tag", "x"])).toBe("status=failed&q=a+%26+b&tag=y");
  expect(withTag("tag=x", "y")).toBe("tag=x&tag=y");
  expect(withTag("tag=x", "x")).toBe("tag=x");
  expect(conditionsOf("?q=&status=done")).toEqual([["status", "done"]]);
});

it("tells two queries apart by what they ask, not by its order", () => {
  expect(areEqual("a=1&b=2", "b=2&a=1")).toBe(true);
  expect(areEqual("a=1", "a=1&b=2")).toBe(false);
  expect(areEqual("", "?q=")).toBe(true);
});

it("turns what is typed into the API's units and back", () => {
  const [first, , , cost] = RANGES as [(typeof RANGES)[0], unknown, unknown, (typeof RANGES)[0]];
  expect(toApi(first, "61.5")).toBe("61500");
  expect(fromApi(first, "61500")).toBe("61.5");
  expect(toApi(cost, "0.0009")).toBe("900000");
  for (const nonsense of ["", " ", "-1", "a", "Infinity"]) expect(toApi(first, nonsense)).toBe("");
});

it("says each condition in words, also one it does not know", () => {
  const words = [
    ["status", "failed"],
    ["verdict", "none"],
    ["first_text_us_min", "61500"],
    ["cost_nano_max", "900000"],
    ["is_pinned", "true"],
    ["surface", "openai"],
    ["rerun", "rerun_a"],
    ["later", "x"],
  ] as [string, string][];
  expect(inWords(["model", "big"], [], { big: "Big one" })).toBe("Model: Big one");
  expect(inWords(["model", "constructor"], [], {})).toBe("Model: constructor");
  expect(words.map((each) => inWords(each, ["USD"]))).toEqual([
    "Status: failed",
    "Safety: not recorded",
    "First text ≥ 61.5\u00a0ms",
    "Cost ≤ 0.0009\u00a0USD",
    "Pinned",
    "Asked by the OpenAI API",
    "Runs of one set",
    "later: x",
  ]);
});

it("names the unit of every figure", () => {
  expect(RANGES.map((range) => unitOf(range, ["EUR", "USD"]))).toEqual(["ms", "ms", "s", "EUR or USD"]);
  expect(RANGES.map((range) => unitOf(range, []))).toEqual(["ms", "ms", "s", "in the bill’s currency"]);
});

it("offers what occurs and what is in force, in its own order, by its name where it has one", () => {
  const words = { chat: "the chat", replay: "a set of runs", openai: "the OpenAI API" };
  const names = (found: string[] | undefined, inForce = "") =>
    offered(words, found, inForce).map(([name]) => name);
  expect(names(["replay", "chat"])).toEqual(["chat", "replay"]);
  expect(names(["chat"], "openai")).toEqual(["chat", "openai"]);
  expect(offered(words, ["other", "chat"], "")).toEqual([
    ["chat", "the chat"],
    ["other", "other"],
  ]);
  expect(names([])).toEqual([]);
  expect(names(undefined)).toEqual(["chat", "replay", "openai"]);
});

it("takes an order for no filter", () => {
  expect(filtersOf("q=a&sort=-cost_nano")).toEqual([["q", "a"]]);
  expect(unfiltered("q=a&sort=-cost_nano&tag=x")).toBe("sort=-cost_nano");
});

it("tells the filters that name a currency from all others", () => {
  expect(
    ["cost_nano_max=9", "q=a&cost_nano_min=1", "sort=-cost_nano", "duration_us_min=1", ""].map(namesMoney),
  ).toEqual([true, true, false, false, false]);
});
