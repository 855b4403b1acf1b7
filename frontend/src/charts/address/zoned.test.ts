import { afterEach, expect, it, vi } from "vitest";
import { inZone } from "./zoned";

afterEach(() => vi.unstubAllGlobals());

it("writes each moment in its zone, and makes one formatter for each zone", () => {
  const made = vi.fn();
  class Counted extends Intl.DateTimeFormat {
    constructor(locale: string, form: Intl.DateTimeFormatOptions) {
      super(locale, form);
      made();
    }
  }
  vi.stubGlobal("Intl", { DateTimeFormat: Counted });
  const hour = inZone({ hour: "2-digit", hourCycle: "h23" });
  const at = "2026-11-25T12:00:00Z";
  for (let row = 0; row < 100; row += 1)
    expect([hour(at, "UTC"), hour(new Date(at), "Asia/Tokyo")]).toEqual(["12", "21"]);
  expect(made).toHaveBeenCalledTimes(2);
});
