import { expect, it } from "vitest";
import type { Model, WorkerStatus } from "../protocol/api";
import { waitText } from "./model-wait";

const model = (is_ready: boolean) => ({ id: "big", is_ready }) as Model;
const worker = (state: WorkerStatus["state"], id = "big") =>
  ({ state, progress: "0.4", model: id }) as WorkerStatus;

it("tells why no worker of this very model takes its messages", () => {
  expect(waitText(model(true), [])).toBe("");
  expect(waitText(model(false), [worker("ready", "small")])).toBe("no worker is ready");
  expect(waitText(model(false), [worker("failed")])).toBe("it did not load");
  expect(waitText(model(false), [worker("failed"), worker("loading")])).toBe("loading: 40\u00a0%");
});
