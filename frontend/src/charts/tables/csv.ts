/** A table as CSV (RFC 4180), whose texts no spreadsheet takes for a formula. Pure. */
import type { Cell, Table } from "./table";

const FORMULA = /^[=+\-@\t\r]/;
const SPECIAL = /[",\r\n]/;

export function csvOf({ columns, rows }: Table): string {
  const lines = [columns.map(({ name, inFile }) => inFile ?? name), ...rows];
  return lines.map((line) => `${line.map(field).join(",")}\r\n`).join("");
}

/** A text that a spreadsheet would compute gets an apostrophe before it; a number stays as it is. */
export function field(cell: Cell): string {
  return typeof cell === "string" ? quoted(FORMULA.test(cell) ? `'${cell}` : cell) : cell.exact;
}

function quoted(text: string): string {
  return SPECIAL.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
