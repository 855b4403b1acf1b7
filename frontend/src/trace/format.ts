/** Numbers for people: a unit always, no more digits than are meant. */

export function duration(us: number): string {
  if (us < 1000) return `${Math.round(us)} µs`;
  if (us < 100_000) return `${(us / 1000).toFixed(1)} ms`;
  if (us < 1_000_000) return `${Math.round(us / 1000)} ms`;
  return `${(us / 1e6).toFixed(2)} s`;
}

export function percent(share: number): string {
  if (share >= 0.9995) return "100 %";
  if (share >= 0.1) return `${(share * 100).toFixed(1)} %`;
  if (share >= 0.001) return `${(share * 100).toFixed(2)} %`;
  return share > 0 ? "< 0.1 %" : "0 %";
}

export function count(value: number): string {
  return value.toLocaleString("en-US");
}

/** Billionths of a currency unit, exactly. */
export function money(nano: number, currency: string): string {
  return `${(nano / 1e9).toFixed(9).replace(/0{1,6}$/, "")} ${currency}`;
}
