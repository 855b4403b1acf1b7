import { expect, it } from "vitest";
import type { CacheLookedUp } from "../../protocol/events";
import { savedTime } from "./saved-time";

const looked = (saved_us: number | null, num_timed_tokens: number | null) =>
  savedTime({ num_cached_tokens: 48, saved_us, num_timed_tokens } as CacheLookedUp);

it("says how far the saved time is known", () => {
  expect(looked(44_000, 48)).toBe("44.0\u00a0ms");
  expect(looked(29_000, 32)).toBe("at least 29.0\u00a0ms");
  expect(looked(96_000, null)).toBe("about 96\u00a0ms");
  expect(looked(null, 0)).toBeNull();
});
