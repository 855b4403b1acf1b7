import { expect, it } from "vitest";
import type { AnyEvent } from "../protocol/events";
import { shifted } from "../layout/shifted";
import { scale } from "../layout/timeline";
import { agentOffset, agentsOf, billWithAgents } from "./agents";
import { foldAll } from "./fixtures";

const event = (type: string, at: number, fields: object) =>
  ({ type, at, generation: 0, ...fields }) as unknown as AnyEvent;
const ACCEPTED = event("request.accepted", 0, { accepted_unix_us: 1_000_000, features: [], params: {} });
const called = (call_id: string, args: string) =>
  event("tool.called", 10, { call_id, name: "delegate", arguments: args, source: "agent" });
const started = (call_id: string) =>
  event("agent.started", 20, { call_id, request_id: `req_${call_id}`, accepted_unix_us: 1_000_015 });
const ended = (call_id: string, total_nano: number | null, currency = "USD") =>
  event("agent.finished", 90, {
    call_id,
    request_id: `req_${call_id}`,
    status: "done",
    total_nano,
    currency,
  });
const BILL = event("bill.posted", 100, { lines: [{}], total_nano: 7, currency: "USD" });

const ONE = [ACCEPTED, called("a", '{"task": "Add."}'), started("a")];

it("names each agent with its task and its end", () => {
  const [first, second] = agentsOf(
    foldAll([...ONE, called("b", "{"), started("b"), started("b"), ended("a", 5)]),
  );
  expect([first!.task, first!.requestId, first!.ended?.total_nano]).toEqual(["Add.", "req_a", 5]);
  expect([second!.task, second!.ended]).toEqual(["", null]);
});

it("adds the bills of the agents, where all are known and of one currency", () => {
  expect(billWithAgents(foldAll([...ONE, ended("a", 5), BILL]))).toEqual({ nano: 12, currency: "USD" });
  for (const last of [[], [ended("a", null)], [ended("a", 5, "EUR")]])
    expect(billWithAgents(foldAll([...ONE, ...last, BILL]))).toBeNull();
  expect(billWithAgents(foldAll([...ONE, ended("a", 5)]))).toBeNull();
});

it("places an agent's times on the axis of its parent", () => {
  const view = foldAll(ONE);
  const offset = agentOffset(view, agentsOf(view)[0]!);
  expect(offset).toBe(15);
  const on = scale({ start: 0, end: 1000 }, 500);
  const own = shifted(on, offset);
  expect(own.toX(30)).toBe(on.toX(45));
  expect(own.toTime(own.toX(30))).toBeCloseTo(30);
  expect([own.start, own.end]).toEqual([on.start - 15, on.end - 15]);
});
