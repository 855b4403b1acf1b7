import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { csvOf, field } from "./csv";
import { amount, decimalOf, quantity, type Table } from "./table";

/** Reads RFC 4180 by the letter. */
function read(csv: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let at = 0;
  while (at < csv.length) {
    let text = "";
    if (csv[at] === '"') {
      for (at += 1; csv[at] !== '"' || csv[at + 1] === '"'; at += 1) {
        text += csv[at];
        if (csv[at] === '"') at += 1;
      }
      at += 1;
    } else while (at < csv.length && csv[at] !== "," && csv[at] !== "\r") text += csv[at++];
    row.push(text);
    if (csv[at] === ",") at += 1;
    else {
      expect(csv.slice(at, at + 2)).toBe("\r\n");
      rows.push(row);
      row = [];
      at += 2;
    }
  }
  return rows;
}

const table = (rows: string[][]): Table => ({ name: "t", columns: [{ name: "a" }, { name: "b" }], rows });
const hostile = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc
    .tuple(fc.constantFrom("=", "+", "-", "@", "\t", "\r", '"', ",", "\n", "'"), fc.string())
    .map((parts) => parts.join("")),
);

describe("a table as CSV", () => {
  it("is read back as it was, but for the apostrophes", () =>
    fc.assert(
      fc.property(fc.array(fc.tuple(hostile, hostile), { maxLength: 6 }), (rows) => {
        const [, ...found] = read(csvOf(table(rows)));
        const meant = rows.map((row) => row.map((text) => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text)));
        expect(found).toEqual(meant);
      }),
    ));

  it("has no field that begins as a formula", () =>
    fc.assert(
      fc.property(hostile, (text) => {
        const [[, found] = []] = read(csvOf(table([["x", text]]))).slice(1);
        expect(found).not.toMatch(/^[=+\-@\t\r]/);
      }),
    ));

  it.each([
    ["=1+1", "'=1+1"],
    ["@SUM(A1)", "'@SUM(A1)"],
    ['=HYPERLINK("x","y")', `"'=HYPERLINK(""x"",""y"")"`],
    ["\ta", "'\ta"],
    ["\ra", `"'\ra"`],
    ["a=b", "a=b"],
  ])("writes %j as %j", (text, written) => expect(field(text)).toBe(written));

  it("writes a number below zero as a number, and an unknown one as nothing", () => {
    expect(field(amount(-1_500_000_000, String))).toBe("-1.5");
    expect(field(quantity(null, String))).toBe("");
    expect(field(quantity(3e-7, String))).toBe("0.000000300");
  });
});

it("writes billionths exactly", () => {
  expect([0, 1, 300, 1e9, 412_800_000_000, -5].map(decimalOf)).toEqual([
    "0",
    "0.000000001",
    "0.0000003",
    "1",
    "412.8",
    "-0.000000005",
  ]);
  fc.assert(
    fc.property(fc.maxSafeInteger(), (nano) => {
      const [whole = "", part = ""] = decimalOf(Math.abs(nano)).split(".");
      expect(BigInt(whole + part.padEnd(9, "0"))).toBe(BigInt(Math.abs(nano)));
    }),
  );
});
