import { expect, it } from "vitest";
import { percent } from "../../trace/format";
import { afterSettings, byModel } from "./chance-words";

it("names both probabilities, the model's own and that after the settings", () => {
  const words = (model: number | null, drawn: number | null) => [
    byModel({ model, drawn }),
    afterSettings({ model, drawn }),
  ];
  expect(words(0.378, 1)).toEqual([`${percent(0.378)} by the model`, `${percent(1)} after the settings`]);
  expect(words(0.2, 0)[1]).toBe("removed by the settings");
  expect(words(0.2, null)[1]).toBe("");
  expect(words(null, null)[0]).toBe("outside the recorded candidates");
});
