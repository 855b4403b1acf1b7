import { expect, it } from "vitest";
import { ACCEPTED, CANCELLED, ended, failed, foldAll, RELEASED, token, WITHHELD } from "../fixtures";
import { sentence, story } from "./sentences";

const WRITTEN = [ACCEPTED, token(0, 100_000), token(1, 300_000), RELEASED];

it("tells every end in a sentence", () => {
  expect(story(foldAll([...WRITTEN, ...ended("stop")]))).toBe("2 tokens were sampled, 5 a second.");
  expect(story(foldAll([...WRITTEN, ...ended("length")]))).toContain("length limit, after 2 tokens");
  expect(story(foldAll([...WRITTEN, CANCELLED, ...ended("abort")]))).toContain("after 2 tokens");
  expect(story(foldAll([...WRITTEN, WITHHELD, ...ended("content_filter")]))).toContain("1 token (self harm)");
  expect(story(foldAll([ACCEPTED, CANCELLED, failed("gateway", "cancelled")]))).toContain(
    "before the first token",
  );
  expect(story(foldAll([ACCEPTED, failed("safety", "blocked")]))).toContain("did not reach the model");
  expect(story(foldAll([ACCEPTED, failed("generation", "no_worker")]))).toBe(
    "No worker took the request. Because.",
  );
});

it("tells a stage that is still to come from one that never will", () => {
  expect(sentence(foldAll([ACCEPTED]), "queue")).toBe("The trace has nothing on this stage yet.");
  expect(sentence(foldAll([ACCEPTED, failed("safety", "blocked")]), "queue")).toBe(
    "The request ended before this stage.",
  );
});
