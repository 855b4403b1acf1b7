/** Running totals. */
export function summed(costs: number[]): number[] {
  let sum = 0;
  return costs.map((cost) => (sum += cost));
}
