/** Calls of the operator's desk beyond the report of usage. */
import type { Operations } from "../protocol/api";
import { call } from "./api";

export type PricesBody = Operations["POST /api/prices"]["body"];

export const desk = {
  prices: () => call("GET /api/prices"),
  previewPrices: (body: PricesBody) => call("POST /api/prices/preview", { body }),
  setPrices: (body: PricesBody) => call("POST /api/prices", { body }),
  removePrices: (model: string, effective_from: string) =>
    call("DELETE /api/prices", { query: new URLSearchParams({ model, effective_from }) }),
};
