/** A token's chances, for people: by the model itself, which both sides have, and after each side's settings. */
import type { Chance } from "../../trace/compare/divergence";
import { percent } from "../../trace/format";

export function byModel({ model }: Chance): string {
  return model === null ? "outside the recorded candidates" : `${percent(model)} by the model`;
}

export function afterSettings({ drawn }: Chance): string {
  if (drawn === null) return "";
  return drawn === 0 ? "removed by the settings" : `${percent(drawn)} after the settings`;
}
