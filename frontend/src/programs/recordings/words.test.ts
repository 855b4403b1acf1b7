import { expect, it } from "vitest";
import type { RecordedTurn } from "../../protocol/api";
import { addressesOf, cachedText, differenceText, nameProblem } from "./words";

const turn = (more: Partial<RecordedTurn>): RecordedTurn =>
  ({ number: 2, difference: null, usage: null, ...more }) as RecordedTurn;
const difference: RecordedTurn["difference"] = {
  before: "req_1",
  num_prompt_tokens: 80,
  num_common_tokens: 60,
  differs_at: { kind: "user", role: "user", source: "api:messages[2]", position: 60 },
  num_added: 2,
  num_changed: 0,
  num_removed: 0,
};

it.each(["my-agent", "a", "0.1_x", "a".repeat(40)])("takes the name %s", (name) => {
  expect(nameProblem(name)).toBe("");
});

it.each(["", "A", "a b", "-a", "é", "a/b", "a".repeat(41)])("refuses the name %s", (name) => {
  expect(nameProblem(name)).toContain("1 to 40 characters");
});

it("tells the base address of each family", () => {
  expect(addressesOf("https://s", "a")).toEqual({
    openai: "https://s/record/a/v1",
    anthropic: "https://s/record/a",
  });
});

it("tells the cached share of the input, or that it is unknown", () => {
  const usage = { uncached_input: 20, cache_read: 60, cache_write_5m: 0, cache_write_1h: 0, output: 9 };
  expect(cachedText(turn({ usage }))).toBe("75.0\u00a0%");
  expect(cachedText(turn({}))).toBe("unknown");
});

it("tells the difference in a few words", () => {
  expect(differenceText(turn({ difference }))).toBe("60 tokens the same (75.0\u00a0%); 2 new parts");
  expect(differenceText(turn({ difference: { ...difference, num_removed: 1 } }))).toBe(
    "60 tokens the same (75.0\u00a0%); token 61 differs, in user's message (messages[2]); 2 new parts, 1 gone",
  );
  const system = {
    ...difference,
    differs_at: { kind: "system", role: "system", source: "api:system", position: 3 },
  };
  expect(
    differenceText(
      turn({ difference: { ...system, num_added: 0, num_changed: 1 } as RecordedTurn["difference"] }),
    ),
  ).toContain("token 4 differs, in the system prompt (system); 1 changed");
  expect(differenceText(turn({ number: 1 }))).toBe("the first turn");
  expect(differenceText(turn({}))).toBe("no earlier turn with a trace begins alike");
  expect(differenceText(turn({ status: "running" }))).toBe("compared when the turn ends");
});
