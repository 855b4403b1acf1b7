/** Numbers for people: a unit always (which stays on the number's line), no more digits than are meant. */

export function duration(us: number): string {
  const size = Math.abs(us);
  if (size < 1000) return `${decimal(us, 0)}\u00a0µs`;
  if (size < 100_000) return `${decimal(us / 1000, 1)}\u00a0ms`;
  if (size < 1_000_000) return `${decimal(us / 1000, 0)}\u00a0ms`;
  return `${decimal(us / 1e6, 2)}\u00a0s`;
}

/** A number below zero has a minus sign, not a hyphen; one that is shown as zero has none. */
export function decimal(value: number, digits: number): string {
  const shown = Math.abs(value).toFixed(digits);
  return value < 0 && Number(shown) !== 0 ? `\u2212${shown}` : shown;
}

/** A time that is only roughly known: two digits that count. */
export function roughly(us: number): string {
  const digits = { maximumSignificantDigits: 2, useGrouping: false } as const;
  const [unit, size] = us < 1000 ? ["µs", 1] : us < 995_000 ? ["ms", 1000] : ["s", 1e6];
  return `${(us / (size as number)).toLocaleString("en-US", digits)}\u00a0${unit}`;
}

export function percent(share: number): string {
  if (share >= 0.9995) return "100\u00a0%";
  if (share >= 0.1) return `${(share * 100).toFixed(1)}\u00a0%`;
  if (share >= 0.001) return `${(share * 100).toFixed(2)}\u00a0%`;
  return share > 0 ? "<\u00a00.1\u00a0%" : "0\u00a0%";
}

const groups = new Intl.NumberFormat("en-US");

export function count(value: number): string {
  return groups.format(value);
}

/** Bits from nats, as people read them: 1 bit is a chance of 1 in 2. */
export function bits(nats: number, digits = 2): string {
  return `${decimal(nats / Math.LN2, digits)}\u00a0bits`;
}

/** A count with its noun: "1 token", "8 tokens". */
export function counted(value: number, noun: string, plural = `${noun}s`): string {
  return `${count(value)} ${value === 1 ? noun : plural}`;
}

/** In seconds, as people time a wait. */
export function seconds(us: number): string {
  return `${(us / 1e6).toFixed(us < 9_995_000 ? 2 : 1)}\u00a0s`;
}

/** Billionths of a currency unit, to be read and compared: two digits that count. */
export function money(nano: number, currency: string): string {
  const isWhole = nano === 0 || Math.abs(nano) >= 1e9;
  return moneyIn(
    nano,
    currency,
    isWhole
      ? { minimumFractionDigits: 2, maximumFractionDigits: 2 }
      : { minimumSignificantDigits: 2, maximumSignificantDigits: 3 },
  );
}

/** Amounts of one column: each with as many decimals as the smallest needs for two digits. */
export function moneyColumn(nanos: number[], currency: string): string[] {
  const least = Math.min(...nanos.filter((nano) => nano > 0).map((nano) => nano / 1e9));
  const num = Number.isFinite(least) ? Math.max(2, 1 - Math.floor(Math.log10(least))) : 2;
  const digits = { minimumFractionDigits: num, maximumFractionDigits: num };
  return nanos.map((nano) => moneyIn(nano, currency, digits));
}

function moneyIn(nano: number, currency: string, digits: Intl.NumberFormatOptions): string {
  const inDigits = (style: Intl.NumberFormatOptions) =>
    numberForm({ ...style, ...digits }).format(nano / 1e9);
  // A code has three letters; another name of a currency stands behind the number.
  return /^[A-Z]{3}$/.test(currency)
    ? inDigits({ style: "currency", currency })
    : `${inDigits({})}\u00a0${currency}`;
}

// Making a formatter takes a hundred times as long as using it, and a table or chart has many amounts.
const numberForms = new Map<string, Intl.NumberFormat>();

function numberForm(options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = JSON.stringify(options);
  const form = numberForms.get(key) ?? new Intl.NumberFormat("en-US", options);
  numberForms.set(key, form);
  return form;
}

/** Billionths of a currency unit, exactly. */
export function exactMoney(nano: number, currency: string): string {
  return moneyIn(nano, currency, { minimumFractionDigits: 2, maximumFractionDigits: 9 });
}

/** Memory, in the binary units of its blocks. */
export function bytes(value: number): string {
  if (value < 1024) return `${value}\u00a0bytes`;
  if (value < 1 << 20) return `${(value / 1024).toFixed(value < 10240 ? 1 : 0)}\u00a0KiB`;
  return `${(value / (1 << 20)).toFixed(1)}\u00a0MiB`;
}

/** The size of a picture. */
export const pixels = ({ width, height }: { width: number | null; height: number | null }): string =>
  `${count(width ?? 0)} × ${count(height ?? 0)} pixels`;
