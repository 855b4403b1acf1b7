import { expect, it } from "vitest";
import { NO_KEY, snippetsOf } from "./snippets";

const FACTS = { address: "http://127.0.0.1:8000", key: "sg-abc", model: "smollm2" };

it("has the reader's address and key in each text, and no place left open", () => {
  for (const { id, text } of snippetsOf(FACTS)) {
    expect(text, id).toContain(FACTS.address);
    expect(text, id).toContain(FACTS.key);
    expect(text, id).not.toMatch(/\{(address|key|model)\}/);
  }
});

it("names the missing key", () => {
  expect(snippetsOf({ ...FACTS, key: "" }).every(({ text }) => text.includes(NO_KEY))).toBe(true);
});
