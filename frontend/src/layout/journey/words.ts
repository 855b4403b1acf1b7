/** Widths of words, without a font to measure: the mono font's columns, and the sans font's average. */

/** Width of a column over the type size of the mono font. */
const COLUMN = 0.6;
/** Width of a letter of the sans font over its type size; ordinary lines are no wider on average. */
const AVERAGE = 0.54;

/** Columns of a character: two for East Asian ones and emoji, none for marks that join the one before. */
function columnsOf(char: string): number {
  const code = char.codePointAt(0)!;
  if (
    (code >= 0x300 && code < 0x370) ||
    (code >= 0x200b && code < 0x2010) ||
    (code >= 0xfe00 && code < 0xfe10)
  )
    return 0;
  return code < 0x1100 || (code >= 0x2000 && code < 0x2e80) ? 1 : 2;
}

export const monoWidth = (words: string, size: number): number =>
  [...words].reduce((sum, char) => sum + columnsOf(char), 0) * COLUMN * size;

export const sansWidth = (words: string, size: number): number => (monoWidth(words, size) / COLUMN) * AVERAGE;

type Measure = (words: string, size: number) => number;

/** The beginning of the words that fits, with an ellipsis when it is not all. */
export function fitted(words: string, width: number, size: number, measure: Measure = monoWidth): string {
  // Cut first: nothing longer can fit, and measuring a megabyte takes long.
  const chars = [...words.slice(0, Math.max(0, Math.ceil(width / (size * 0.25))))];
  if (chars.length === [...words.slice(0, chars.length + 2)].length && measure(words, size) <= width)
    return words;
  while (chars.length && measure(`${chars.join("")}…`, size) > width) chars.pop();
  return chars.length ? `${chars.join("")}…` : "";
}

/** Lines of at most a width, broken at spaces where there are any. The last one ends in an ellipsis if text is left. */
export function lines(
  words: string,
  width: number,
  size: number,
  most: number,
  measure: Measure = sansWidth,
): string[] {
  const found: string[] = [];
  let rest = words.slice(0, most * Math.max(1, Math.ceil(width / (size * 0.25)))).trim();
  while (rest && found.length < most) {
    const cut = lineEnd(rest, width, size, measure);
    if (found.length === most - 1 && cut < rest.length)
      return [...found, fitted(rest.replaceAll("\n", " "), width, size, measure)];
    found.push(rest.slice(0, cut).trimEnd());
    rest = rest.slice(cut).trimStart();
  }
  return found;
}

function lineEnd(words: string, width: number, size: number, measure: Measure): number {
  const newline = words.indexOf("\n");
  const whole = newline < 0 ? words : words.slice(0, newline);
  if (measure(whole, size) <= width) return whole.length + (newline < 0 ? 0 : 1);
  let end = 0;
  let used = 0;
  for (const char of whole) {
    used += measure(char, size);
    if (used > width) break;
    end += char.length;
  }
  const space = whole.lastIndexOf(" ", end);
  return space > 0 ? space + 1 : Math.max(end, [...whole][0]?.length ?? 1);
}
