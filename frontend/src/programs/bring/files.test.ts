import { expect, it } from "vitest";
import { firstWrong, MOST_BYTES, sizeProblem, textOf } from "./files";

const bytes = (...parts: (string | number)[]) =>
  Uint8Array.from(
    parts.flatMap((each) => (typeof each === "string" ? [...new TextEncoder().encode(each)] : [each])),
  );

it("reads a file of UTF-8", async () => {
  expect(await textOf(new Blob([bytes("né\u{1f600}")]))).toEqual({ text: "né\u{1f600}", problem: "" });
});

it.each([
  [bytes("ab", 0xff, "cd"), 2],
  [bytes(0xff), 0],
  [bytes("é", 0xc3, "("), 3],
  [bytes("a".repeat(5000), 0x80), 5000],
])("finds the byte that is wrong", (given, place) => {
  expect(firstWrong(given)).toBe(place);
});

it("names the place of what is no UTF-8", async () => {
  expect((await textOf(new Blob([bytes("ab", 0xff)]))).problem).toContain("byte 3 cannot be read");
});

it("refuses what is too large, before it is read", async () => {
  expect(sizeProblem(MOST_BYTES)).toBe("");
  expect((await textOf(new Blob(["x".repeat(MOST_BYTES + 1)]))).problem).toContain(
    "768 KiB can be taken apart",
  );
});
