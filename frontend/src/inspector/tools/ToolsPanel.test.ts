// @vitest-environment jsdom
import { afterEach, expect, it } from "vitest";
import { mount, unmount } from "svelte";
import type { AnyEvent } from "../../protocol/events";
import { RequestTrace } from "../../state/request/request-trace.svelte";
import { ACCEPTED, ended, PARAMS, token } from "../../trace/fixtures";
import ToolsPanel from "./ToolsPanel.svelte";

let panel: object;
afterEach(() => unmount(panel));

const CLOCK = { name: "clock", description: "", parameters: "{}", is_strict: true };
const accepted = (is_required: boolean): AnyEvent =>
  ({
    ...ACCEPTED,
    features: ["tool:clock"],
    params: { ...PARAMS, tool_calls: { tools: [CLOCK], is_required, is_parallel: true } },
  }) as AnyEvent;

function told(...events: AnyEvent[]): string {
  const trace = new RequestTrace("req_1");
  events.forEach((event, index) => trace.receive(event, index + 1));
  panel = mount(ToolsPanel, { target: document.body, props: { view: trace.whole } });
  return document.querySelector(".note")!.textContent.replace(/\s+/g, " ").trim();
}

it("says of an answer under way that no tool was called so far", () => {
  expect(told(accepted(false), token(0, 1))).toBe("The model has called no tool of the server so far.");
});

it("says of an answer that had to begin with a call that the call was not complete", () => {
  expect(told(accepted(true), token(0, 1), ...ended("length"))).toBe(
    "The answer had to begin with a call of a tool. It ended before the call was complete, so nothing was called.",
  );
});

it("says of an answer without a call that the model could have called", () => {
  expect(told(accepted(false), token(0, 1), ...ended("stop"))).toContain(
    "called no tool of the server, though it could",
  );
});
