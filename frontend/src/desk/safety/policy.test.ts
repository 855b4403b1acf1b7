import { expect, it } from "vitest";
import type { PolicyThresholds } from "../../protocol/api";
import {
  categoriesOf,
  changeText,
  isPossible,
  isSame,
  ofGroup,
  readText,
  versionText,
  withGroupThreshold,
  withThreshold,
} from "./policy";

const POLICY: PolicyThresholds = {
  tool_result: { flag: { violence: 0.55, jailbreak: 0.55 }, rewrite: {}, block: {} },
  groups: {},
  input: { flag: { violence: 0.55, jailbreak: 0.55 }, rewrite: {}, block: { violence: 0.82 } },
  output: { flag: { violence: 0.57 }, rewrite: {}, block: {} },
};

it("moves one threshold and leaves the policy as it was", () => {
  const moved = withThreshold(POLICY, "input", "block", "violence", 0.7);
  expect(moved.input.block).toEqual({ violence: 0.7 });
  expect(POLICY.input.block).toEqual({ violence: 0.82 });
  expect(isSame(moved, POLICY)).toBe(false);
  expect(isSame(withThreshold(moved, "input", "block", "violence", 0.82), POLICY)).toBe(true);
  expect(withThreshold(POLICY, "input", "block", "violence", null).input.block).toEqual({});
  expect(categoriesOf(POLICY)).toEqual(["violence", "jailbreak"]);
});

it("says what would change, of what, and what is not known", () => {
  expect(changeText({ before: "flag", after: "block", num: 3, examples: [] })).toBe(
    "3 requests that are now flagged would be blocked",
  );
  const effect = { num_read: 1000, num_decisions: 2500, num_unknown: 1, before: {}, after: {}, changes: [] };
  expect(readText(effect)).toBe(
    "The newest 1,000 of 2,500 saved decisions. 1 is unknown: the recorded scores do not decide. Requests without a saved trace are not among them.",
  );
  expect(readText({ ...effect, num_decisions: 1000, num_unknown: 0 })).toBe(
    "All 1,000 saved decisions. Requests without a saved trace are not among them.",
  );
  expect(readText({ ...effect, num_read: 1, num_decisions: 1, num_unknown: 0 })).toBe(
    "1 saved decision. Requests without a saved trace are not among them.",
  );
  expect(readText({ ...effect, num_read: 0, num_decisions: 0 })).toBe("There is no saved decision yet.");
  const file = {
    version: null,
    label: "default 2",
    author: "",
    saved_at: null,
    note: "",
    thresholds: POLICY,
  };
  expect(versionText(file)).toBe("default 2, of the policy file");
});

it("gives a group thresholds of its own, and none where they are those of all", () => {
  const own = withGroupThreshold(POLICY, "support", "input", "block", "violence", null);
  expect(ofGroup(own, "support").input.block).toEqual({});
  expect(ofGroup(own, "others").input.block).toEqual({ violence: 0.82 });
  expect(isSame(own, POLICY)).toBe(false);
  const back = withGroupThreshold(own, "support", "input", "block", "violence", 0.82);
  expect(back.groups).toEqual({});
});

it("offers rewriting for what has a place in the text alone", () => {
  expect(isPossible("rewrite", "pii", [])).toBe(true);
  expect(isPossible("rewrite", "violence", ["violence"])).toBe(false);
  expect(isPossible("block", "violence", [])).toBe(false);
});
