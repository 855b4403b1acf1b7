/** A table of figures: what is shown, and the exact value beside it for a file. Pure. */

/** A number with its form on the screen. */
export interface Quantity {
  shown: string;
  /** The plain decimal number; empty: unknown. */
  exact: string;
}
export type Cell = string | Quantity;

export interface Table {
  /** Names the table and its file. */
  name: string;
  columns: {
    name: string;
    isNumber?: boolean;
    /** Its name in a file, where the unit is not beside each number. */
    inFile?: string;
  }[];
  rows: Cell[][];
}

const NANO_DIGITS = 9;

export function quantity(value: number | null, shown: (value: number) => string): Quantity {
  return value === null ? { shown: "unknown", exact: "" } : { shown: shown(value), exact: plain(value) };
}

/** An amount in billionths, exactly. */
export function amount(nano: number, shown: (nano: number) => string): Quantity {
  return { shown: shown(nano), exact: decimalOf(nano) };
}

/** Billionths as a decimal number, without a rounding: 1500000000 is "1.5". */
export function decimalOf(nano: number): string {
  const digits = String(BigInt(Math.abs(Math.round(nano)))).padStart(NANO_DIGITS + 1, "0");
  const [whole, part] = [digits.slice(0, -NANO_DIGITS), digits.slice(-NANO_DIGITS).replace(/0+$/, "")];
  return `${nano < 0 ? "-" : ""}${whole}${part && `.${part}`}`;
}

/** A number without an exponent, which a spreadsheet may take for a text. */
function plain(value: number): string {
  const text = String(value);
  return text.includes("e") ? value.toFixed(NANO_DIGITS) : text;
}
