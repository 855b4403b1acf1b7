import { expect, it } from "vitest";
import type { AnyEvent } from "../../protocol/events";
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

it("tells which tools were called, and that none was", () => {
  const offered = {
    ...ACCEPTED,
    params: { tool_calls: { tools: [{ name: "clock" }], is_required: false } },
  } as unknown as AnyEvent;
  const call = { generation: 0, call_id: "call_0_0" };
  const called = {
    ...call,
    type: "tool.called",
    at: 1000,
    name: "clock",
    arguments: "{}",
    source: "builtin",
  };
  const result = {
    ...call,
    type: "tool.finished",
    at: 3000,
    result: "4",
    is_error: false,
    duration_us: 2000,
  };
  const said = (...log: unknown[]) => sentence(foldAll(log as AnyEvent[]), "tools");
  expect(said(ACCEPTED)).toBe("The model was offered no tool.");
  expect(said(offered)).toBe("The model was offered 1 tool and called none yet.");
  expect(said(offered, called)).toBe("The model made 1 call: clock.");
  expect(said(offered, called, result)).toBe(
    "The model made 1 call: clock. It took 2.0 ms.".replace(" ms", "\u00a0ms"),
  );
});
