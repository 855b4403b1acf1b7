import { describe, expect, it } from "vitest";
import { characters } from "../../tokenizer/cutter";
import { sameTokens } from "./order";
import { CHASE, numUnderstood, TROPHY, verdictOf } from "./sentences";

describe("attention", () => {
  const cut = characters.cut;

  it("compares texts of the same tokens that end alike, and says what keeps others from it", () => {
    expect(sameTokens(cut("abc."), cut("bac."))).toBeNull();
    expect(sameTokens(cut("abc."), cut("abd."))).toContain("“c” is in the first");
    expect(sameTokens(cut("ab."), cut("abb."))).toContain("“b” is in the second");
    expect(sameTokens(cut("ab"), cut("ba"))).toContain("End both");
    expect(sameTokens([], cut("a"))).toContain("Type two sentences");
  });

  it("says plainly whether the model understood", () => {
    expect(
      numUnderstood(TROPHY, [
        [0.2, 0.1],
        [0.1, 0.2],
      ]),
    ).toBe(2);
    expect(
      verdictOf(TROPHY, [
        [0.2, 0.1],
        [0.1, 0.2],
      ]),
    ).toMatch(/^The model names the right one both times/);
    expect(
      verdictOf(TROPHY, [
        [0.2, 0.1],
        [0.2, 0.1],
      ]),
    ).toMatch(/“trophy” first both times\. A model this small does not/);
    expect(
      verdictOf(CHASE, [
        [0.2, 0.1],
        [0.1, 0.2],
      ]),
    ).toMatch(/wrong way round/);
  });
});
