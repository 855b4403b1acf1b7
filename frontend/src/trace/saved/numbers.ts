/** A column of numbers as a saved trace holds it; the form is described in webapp/traces/file/numbers.py. */

/** Scale, flags, bytes per number, data. */
export type Numbers = [number, number, number, Uint8Array];

const SIGNED = 1;
const DELTA = 2;
const HAS_UNKNOWN = 4;
const RELATIVE = 8;

/** `count` numbers, NaN where unknown. Throws where the column has another length. */
export function unpack(column: Numbers, count: number, base?: ArrayLike<number>): Float64Array {
  const [scale, flags, width, data] = column;
  if (data.length !== count * width) throw new Error("A column of the saved trace has another length.");
  if (scale === 0) return doubles(data, count);
  const values = new Float64Array(count);
  for (let plane = width - 1; plane >= 0; plane--)
    for (let index = 0; index < count; index++)
      values[index] = values[index]! * 256 + data[plane * count + index]!;
  let sum = 0;
  for (let index = 0; index < count; index++) {
    let code = values[index]!;
    if (flags & HAS_UNKNOWN && code-- === 0) {
      values[index] = NaN;
      continue;
    }
    if (flags & SIGNED) code = code % 2 ? -(code + 1) / 2 : code / 2;
    if (flags & DELTA) code = sum += code;
    if (flags & RELATIVE) code += rounded(base![index]! * scale);
    values[index] = code / scale;
  }
  return values;
}

function doubles(data: Uint8Array, count: number): Float64Array {
  const bytes = new Uint8Array(count * 8);
  for (let plane = 0; plane < 8; plane++)
    for (let index = 0; index < count; index++) bytes[index * 8 + plane] = data[plane * count + index]!;
  const view = new DataView(bytes.buffer);
  return Float64Array.from({ length: count }, (_, index) => view.getFloat64(index * 8, true));
}

/** Halves to the even neighbour, as NumPy does. */
function rounded(value: number): number {
  const up = Math.round(value);
  return up - value === 0.5 && up % 2 ? up - 1 : up;
}

export const orNull = (value: number): number | null => (Number.isNaN(value) ? null : value);

/** The start of each run of these lengths, and the end of the last one. */
export function starts(counts: ArrayLike<number>): Uint32Array {
  const found = new Uint32Array(counts.length + 1);
  for (let index = 0; index < counts.length; index++)
    found[index + 1] = found[index]! + (counts[index]! || 0);
  return found;
}
