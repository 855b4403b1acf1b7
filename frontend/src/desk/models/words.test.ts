import { describe, expect, it } from "vitest";
import { model, worker } from "./fixtures";
import { actionsOf, checkSteps, endedText, figuresOf, idFrom, isMoving, stateText } from "./words";

describe("the actions", () => {
  it.each([
    ["checking", ["retire"]],
    ["failed", ["check", "change", "delete"]],
    ["enabled", ["default", "drain", "check", "change"]],
    ["drained", ["enable", "retire", "check", "change"]],
    ["retired", ["check", "change", "delete"]],
  ] as const)("of a model that is %s", (state, actions) => {
    expect(actionsOf(model({ state }))).toEqual(actions);
  });

  it("leave the default enabled", () => {
    expect(actionsOf(model({ is_default: true }))).toEqual(["change"]);
  });

  it("leave the place of the environment's model alone", () => {
    expect(actionsOf(model({ is_configured: true }))).toEqual(["default", "drain", "check"]);
    expect(actionsOf(model({ is_configured: true, is_default: true }))).toEqual([]);
  });
});

describe("the steps of a check", () => {
  const states = (...given: Parameters<typeof checkSteps>) => checkSteps(...given).map(({ state }) => state);
  const checking = model({ state: "checking", num_ready_workers: 0, check_request_id: null });

  it("begin with a worker of this very model", () => {
    expect(states(checking, [worker({ model: "other" })])).toEqual(["now", "later", "later"]);
  });

  it("tell the loaded share", () => {
    const steps = checkSteps(checking, [worker({ state: "loading", progress: "0.4" })]);
    expect(steps.map(({ state, progress }) => [state, progress])).toEqual([
      ["done", null],
      ["now", 0.4],
      ["later", null],
    ]);
  });

  it("end with the test generation", () => {
    expect(states({ ...checking, num_ready_workers: 1 }, [worker()])).toEqual(["done", "done", "now"]);
    expect(states({ ...checking, check_request_id: "req_2" }, [])).toEqual(["done", "done", "now"]);
  });
});

it("tells a state in a sentence, and a failure in the server's own", () => {
  expect(stateText(model({ state: "failed", message: "There is no file." }))).toBe("There is no file.");
  expect(stateText(model({ state: "drained", num_open_requests: 1 }))).toContain(
    "One request is still open.",
  );
  expect(stateText(model({ state: "drained", num_open_requests: 1200 }))).toContain("1,200 requests are");
  expect(stateText(model({ is_default: true }))).toContain("New conversations begin with it");
});

it("shows a dash for what no check has found yet", () => {
  const texts = (given: Parameters<typeof model>[0]) =>
    Object.fromEntries(figuresOf(model(given)).map(({ name, text }) => [name, text]));
  expect(texts({})).toMatchObject({ "First token": "20.4\u00a0ms", "Tokens a second": "42" });
  expect(texts({ first_token_ms: null, tokens_per_s: null, window: null })).toMatchObject({
    "First token": "–",
    "Tokens a second": "–",
    Window: "–",
  });
});

it("tells the end of a check, and of no other change", () => {
  const [checking, retired] = [model({ state: "checking" }), model({ id: "big", state: "retired" })];
  const ended = (state: "checking" | "enabled" | "failed") =>
    endedText([checking, retired], [model({ state }), model({ id: "big", state: "enabled" })]);
  expect(ended("checking")).toBe("");
  expect(ended("enabled")).toBe("Small is enabled: its check ended well.");
  expect(ended("failed")).toBe("The check of Small failed.");
});

it("looks often while a check runs, workers start or requests end", () => {
  expect(isMoving(model())).toBe(false);
  expect(isMoving(model({ state: "checking" }))).toBe(true);
  expect(isMoving(model({ num_workers: 2 }))).toBe(true);
  expect(isMoving(model({ state: "drained", num_open_requests: 2 }))).toBe(true);
  expect(isMoving(model({ state: "retired", num_ready_workers: 0 }))).toBe(false);
});

it.each([
  ["/models/Qwen2.5-0.5B-Instruct-Q4_K_M.gguf", "qwen2.5-0.5b-instruct-q4_k_m"],
  ["/models/Llama 3 (8B)/", "llama-3-8b"],
  ["  ", ""],
  ["/", ""],
  [`/models/${"a".repeat(300)}.gguf`, "a".repeat(100)],
])("makes of the path %s an id", (path, id) => {
  expect(idFrom(path)).toBe(id);
});
