import { describe, expect, it } from "vitest";
import fc from "fast-check";
import { follow, parsePath, PathError } from "./json-path";

const EVENT = {
  type: "token.sampled",
  step_us: 9000,
  logprob: null,
  processors: [{ name: "temperature" }, { name: "top_p" }],
  "odd name": { deep: [1, 2] },
};

describe("a path", () => {
  it.each([
    ["$.type", ["token.sampled"]],
    ["$.processors[1].name", ["top_p"]],
    ["$.processors[*].name", ["temperature", "top_p"]],
    ["$['odd name'].deep[0]", [1]],
    ["$.*.deep[1]", [2]],
    ["$.step_us > 8000", [9000]],
    ["$.step_us>9000", []],
    ["$.logprob == null", [null]],
    ['$.processors[*].name != "top_p"', ["temperature"]],
    ["$.type >= 3", []],
    ["$.processors[7].name", []],
    ["$.constructor", []],
    ["$", [EVENT]],
  ])("%s", (path, found) => expect(follow(parsePath(path), EVENT)).toEqual(found));

  it.each([
    ["type", 0],
    ["$.", 1],
    ["$.processors[-1]", 12],
    ["$.processors[", 12],
    ["$.a == ", 7],
    ["$.a == five", 7],
    ["$.a = 5", 4],
  ])("%s is refused where it is wrong", (path, at) => {
    const error = (() => {
      try {
        return parsePath(path);
      } catch (error) {
        return error;
      }
    })();
    expect(error).toBeInstanceOf(PathError);
    expect((error as PathError).at).toBe(at);
    expect((error as PathError).message).toMatch(/character \d+\)$/);
  });

  it("gives a result or a PathError for any text, and nothing else", () => {
    fc.assert(
      fc.property(
        fc.string().map((text) => `$${text}`),
        (text) => {
          try {
            expect(Array.isArray(follow(parsePath(text), EVENT))).toBe(true);
          } catch (error) {
            expect(error).toBeInstanceOf(PathError);
          }
        },
      ),
    );
  });
});
