/** The prices in force for the default model, fetched once. */
import { api, type Prices } from "../transport/api";

let asked: Promise<Prices | null> | null = null;

/** Null: the model is unpriced. */
export function loadPrices(): Promise<Prices | null> {
  asked ??= api.prices().then(({ prices }) => prices);
  asked.catch(() => (asked = null));
  return asked;
}
