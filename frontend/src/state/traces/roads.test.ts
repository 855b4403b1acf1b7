import { expect, it } from "vitest";
import type { RerunHead } from "../../protocol/api";
import { isSame, NUM_ROADS, planOfRoads } from "./roads";

const head = (rest: Partial<RerunHead> = {}): RerunHead => ({
  id: "rer_1",
  created_at: "2026-01-01T00:00:00Z",
  model: "small",
  state: "done",
  stop_reason: "",
  num_runs: NUM_ROADS,
  ...planOfRoads(null),
  ...rest,
});

it("goes along the roads that are there, and none that lack an answer or have another setting", () => {
  expect(isSame(head(), planOfRoads(null), "small")).toBe(true);
  expect(isSame(head({ state: "running" }), planOfRoads(null), "small")).toBe(true);
  expect(isSame(head({ state: "stopped" }), planOfRoads(null), "small")).toBe(false);
  expect(isSame(head({ num_runs: 7 }), planOfRoads(null), "small")).toBe(false);
  expect(isSame(head({ model: "big" }), planOfRoads(null), "small")).toBe(false);
  expect(isSame(head({ seeds: "same" }), planOfRoads(null), "small")).toBe(false);
  expect(isSame(head(), planOfRoads(0.8), "small")).toBe(false);
  expect(isSame(head({ grid: { temperature: [0.8] } }), planOfRoads(0.8), "small")).toBe(true);
});
