/** Steps of a heat map: 0 for nothing, then five of equal width up to the most. Pure. */
export const NUM_STEPS = 5;

export function stepOf(value: number, most: number): number {
  return value <= 0 || most <= 0 ? 0 : Math.max(1, Math.ceil((value / most) * NUM_STEPS));
}

export interface Peak {
  row: number;
  column: number;
  value: number;
}

/** The cell with the most; null: all are empty. */
export function peakOf(rows: readonly (readonly number[])[]): Peak | null {
  let peak: Peak | null = null;
  rows.forEach((values, row) =>
    values.forEach((value, column) => {
      if (value > (peak?.value ?? 0)) peak = { row, column, value };
    }),
  );
  return peak;
}
