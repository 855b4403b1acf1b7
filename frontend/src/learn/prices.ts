/** The prices in force for the default model, fetched once. */
import type { UnitPrices } from "../protocol/api";
import { api } from "../transport/api";

let asked: Promise<UnitPrices | null> | null = null;

/** Load the prices; null: the model is unpriced. */
export function loadPrices(): Promise<UnitPrices | null> {
  asked ??= api.prices().then(({ prices }) => prices);
  asked.catch(() => (asked = null));
  return asked;
}
