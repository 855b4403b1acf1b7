/** Today's prices of the models whose running cost is shown; each is fetched once. */
import { SvelteMap } from "svelte/reactivity";
import type { UnitPrices } from "../protocol/api";
import { api } from "../transport/api";

const known = new SvelteMap<string, UnitPrices | null>();
const asked = new Set<string>();

/** Null: the model is unpriced, or its prices are not known yet. To be asked for by `needPrices`. */
export const pricesOf = (model: string): UnitPrices | null => known.get(model) ?? null;

/** A failed fetch leaves the running cost out; the next answer asks again. */
export function needPrices(model: string): void {
  if (asked.has(model)) return;
  asked.add(model);
  api
    .prices(model)
    .then(({ prices }) => known.set(model, prices))
    .catch(() => asked.delete(model));
}
