import { expect, it } from "vitest";
import type { SystemHealth, WorkerStatus } from "../../protocol/api";
import { missingParts } from "./health";

const worker = (more: Partial<WorkerStatus>): WorkerStatus => ({
  state: "ready",
  progress: "1",
  message: "",
  model: "small",
  tokenizer: "v1",
  num_places: 192,
  ...more,
});

const health = (checks: Partial<SystemHealth["checks"]>, workers: WorkerStatus[]): SystemHealth => ({
  status: "not ready",
  checks: { database: true, redis: true, worker: false, ...checks },
  workers,
});

it("says nothing while all parts are there", () => {
  expect(missingParts(health({ worker: true }, [worker({})]))).toEqual([]);
});

it("names each missing part", () => {
  expect(missingParts(health({ database: false, redis: false }, []))).toEqual([
    "The database does not answer.",
    "Redis does not answer. Messages cannot be queued.",
  ]);
  expect(missingParts(health({}, []))).toEqual([
    "No inference worker is running. Messages wait in the queue.",
  ]);
});

it("names a failed worker also beside a ready one, and a loading one only where it is missed", () => {
  const failed = worker({ state: "failed", message: "no such file" });
  const loading = worker({ state: "loading", progress: "0.42" });
  expect(missingParts(health({ worker: true }, [worker({}), failed, loading]))).toEqual([
    "A worker did not load its model: no such file",
  ]);
  expect(missingParts(health({}, [loading]))).toEqual(["A worker loads its model: 42 %."]);
});
