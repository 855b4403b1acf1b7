import { expect, it } from "vitest";
import type { BatchItem, BatchLine } from "../../protocol/api";
import {
  begunBy,
  costText,
  exampleOf,
  lineCost,
  progressText,
  sizeProblem,
  staleFrom,
  stateText,
} from "./words";

const COUNTS = { waiting: 0, open: 0, succeeded: 0, errored: 0, canceled: 0, expired: 0 };
const BATCH: BatchItem = {
  id: "batch_1",
  family: "openai",
  endpoint: "/v1/chat/completions",
  models: ["m"],
  status: "in_progress",
  counts: COUNTS,
  costs: [],
  key: null,
  is_of_sign_in: true,
  problem: "",
  created_at: "2026-11-27T10:00:00Z",
  ended_at: null,
  expires_at: "2026-11-28T10:00:00Z",
  waits_until: null,
  can_cancel: true,
};

it("counts lines by what a reader waits for", () => {
  const counts = { waiting: 5, open: 2, succeeded: 3, errored: 1, canceled: 1, expired: 1 };
  expect(progressText({ counts })).toBe("3 of 13 lines done, 3 failed, 2 running, 5 waiting");
  expect(progressText({ counts: { ...COUNTS, succeeded: 1 } })).toBe("1 of 1 line done");
  expect(progressText({ counts: COUNTS })).toBe("no lines");
});

it("says why no line runs", () => {
  expect(stateText({ ...BATCH, counts: { ...COUNTS, open: 1 } })).toBe("running");
  expect(stateText({ ...BATCH, counts: { ...COUNTS, succeeded: 1 } })).toBe("ending");
  const counts = { ...COUNTS, waiting: 1 };
  expect(stateText({ ...BATCH, counts })).toBe("waiting until the engine is idle");
  expect(stateText({ ...BATCH, counts, waits_until: "2026-11-27T10:01:00Z" })).toBe("waiting for a limit");
  expect(stateText({ ...BATCH, status: "cancelled" })).toBe("cancelled");
});

it("adds up no currencies, and knows an unknown cost from none", () => {
  expect(costText({ costs: [] })).toBe("nothing billed");
  const costs = [
    { currency: "EUR", nano: 2_000_000_000 },
    { currency: "USD", nano: 1_000_000_000 },
  ];
  expect(costText({ costs })).toContain(" + ");
  expect(lineCost({ cost_nano: null, currency: "" })).toBe("–");
  expect(lineCost({ cost_nano: 0, currency: "" })).toBe("unpriced");
});

it("names the maker", () => {
  expect(begunBy({ is_of_sign_in: true, key: null })).toBe("this page");
  expect(begunBy({ is_of_sign_in: false, key: "laptop" })).toBe("the key laptop");
  expect(begunBy({ is_of_sign_in: false, key: null })).toBe("a key that was deleted");
});

it("refuses a file that the server would refuse", () => {
  expect(sizeProblem(32 << 20)).toBe("");
  expect(sizeProblem((32 << 20) + 1)).toContain("32 MiB is the most");
});

it("gives an example of three lines that name the model", () => {
  const lines = exampleOf("m")
    .split("\n")
    .map((line) => JSON.parse(line) as { body: { model: string } });
  expect(lines.map(({ body }) => body.model)).toEqual(["m", "m", "m"]);
});

it("reads again those hundreds that may have changed, and the first for the head", () => {
  const line = (index: number, status: BatchLine["status"]) => ({ index, status }) as BatchLine;
  expect(staleFrom([line(0, "succeeded"), line(1, "succeeded")])).toEqual([0]);
  expect(staleFrom([line(5, "open"), line(250, "open"), line(310, "waiting"), line(500, "waiting")])).toEqual(
    [0, 200, 300],
  );
});
