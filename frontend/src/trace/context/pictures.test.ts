import { expect, it } from "vitest";
import type { TraceView } from "../view";
import { isDigest, pictureWords } from "./pictures";

const view = (whole: number | null, share: number | null) =>
  ({ generation: { num_server_prompt_tokens: whole, num_image_tokens: share } }) as unknown as TraceView;

it("says what the server reports of a picture's tokens, and makes nothing up", () => {
  expect(pictureWords(view(null, null))).toContain("has not reported");
  expect(pictureWords({ generation: null } as unknown as TraceView)).toContain("has not reported");
  expect(pictureWords(view(900, null))).toMatch(/has 900 tokens\. It does not tell how many/);
  expect(pictureWords(view(900, 880))).toContain("has 900 tokens, 880 tokens of them for the pictures");
});

it("makes no address of what is no digest", () => {
  expect(isDigest("0".repeat(64))).toBe(true);
  for (const text of ["[redacted]", "../../api/session", "0".repeat(63), "A".repeat(64)])
    expect(isDigest(text)).toBe(false);
});
