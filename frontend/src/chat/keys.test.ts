import { expect, it } from "vitest";
import { isSendKey } from "./keys";

it("sends on Enter, but never on the Enter of an input method", () => {
  const key = { key: "Enter", shiftKey: false, isComposing: false, keyCode: 13 };
  expect(isSendKey(key)).toBe(true);
  expect(isSendKey({ ...key, shiftKey: true })).toBe(false);
  expect(isSendKey({ ...key, isComposing: true })).toBe(false);
  expect(isSendKey({ ...key, keyCode: 229 })).toBe(false);
});
