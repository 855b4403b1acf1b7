import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { foldAll, ACCEPTED, FORKED } from "../trace/fixtures";
import { waitingApprovals } from "../trace/view";
import { callsOf, partsOf, withCalls } from "./calls";

const CALL = '{"name": "calculator", "arguments": {"expression": "17 * 23"}}';

it("shows a call as a block of code, also while it is written", () => {
  expect(withCalls(`First.<tool_call>${CALL}</tool_call>391`)).toBe(
    `First.\n\n\`\`\`\`tool call\n${CALL}\n\`\`\`\`\n\n391`,
  );
  expect(withCalls(`<tool_call>${CALL.slice(0, 30)}`)).toBe(
    `\`\`\`\`tool call\n${CALL.slice(0, 30)}\n\`\`\`\``,
  );
});

interface Split {
  text: string;
  spoken: string;
  calls: string[];
}
const SPLITS = new URL("../../../tests/golden/calls.json", `file://${import.meta.dirname}/`).pathname;

it.each(JSON.parse(readFileSync(SPLITS, "utf8")) as Split[])(
  "splits $text as the server does",
  ({ text, spoken, calls }) => {
    const parts = partsOf(text);
    const of = (kind: string) => parts.filter((part) => part.kind === kind && part.isWhole);
    expect(
      of("text")
        .map(({ text }) => text)
        .join(""),
    ).toBe(spoken);
    expect(of("call").map(({ text }) => text)).toEqual(calls);
  },
);

it("shows no sign of a call that is still written after its last brace", () => {
  const shown = `\`\`\`\`tool call\n${CALL}\n\`\`\`\``;
  expect(withCalls(`<tool_call>${CALL}</tool`)).toBe(shown);
  expect(withCalls(`<tool_call>${CALL} and more`)).toBe(`${shown}\n\n and more`);
});

it("leaves a text alone that has no call", () => {
  for (const text of ["", "Write <tool_call> to call.", "a < b"]) expect(withCalls(text)).toBe(text);
});

it("gives each call of all generations its result", () => {
  const call = (generation: number) =>
    ({
      type: "tool.called",
      at: 5,
      generation,
      call_id: `call_${generation}_0`,
      name: "calculator",
      arguments: "{}",
      source: "builtin",
      sandbox: "",
    }) as const;
  const result = {
    type: "tool.finished",
    at: 6,
    generation: 0,
    call_id: "call_0_0",
    result: "391",
    is_error: false,
    duration_us: 1,
  } as const;
  const view = foldAll([ACCEPTED, call(0), result, call(1)]);
  expect(callsOf(view)).toEqual([{ name: "calculator", arguments: "{}", result: "391", is_error: false }]);
});

it("puts the calls that a fork kept before its own", () => {
  const kept = { name: "calculator", arguments: "{}", result: "391", is_error: false };
  const rounds = [{ text: "", num_tokens: 1, calls: [kept] }];
  const forked = { ...FORKED, rounds } as typeof FORKED;
  expect(callsOf(foldAll([ACCEPTED, forked]))).toEqual([kept]);
});

it("gives a declined call its result too, in the model's order", () => {
  const shared = { at: 5, generation: 0, name: "rename_conversation", arguments: "{}" } as const;
  const asked = (call_id: string) =>
    ({ ...shared, type: "tool.approval_asked", call_id, timeout_us: 300_000_000 }) as const;
  const result = (call_id: string, is_error: boolean) =>
    ({
      type: "tool.finished",
      at: 6,
      generation: 0,
      call_id,
      result: call_id,
      is_error,
      duration_us: 1,
    }) as const;
  const view = foldAll([
    ACCEPTED,
    asked("call_0_10"),
    asked("call_0_2"),
    { type: "tool.declined", at: 6, generation: 0, call_id: "call_0_2", by: "user" },
    result("call_0_10", false),
    result("call_0_2", true),
  ]);
  expect(callsOf(view).map((each) => [each.result, each.is_error])).toEqual([
    ["call_0_2", true],
    ["call_0_10", false],
  ]);
});

it("tells which calls wait for the user", () => {
  const asked = (call_id: string) =>
    ({
      type: "tool.approval_asked",
      at: 5,
      generation: 0,
      name: "rename_conversation",
      arguments: "{}",
      call_id,
      timeout_us: 300_000_000,
    }) as const;
  const approved = { type: "tool.approved", at: 6, generation: 0, call_id: "call_0_0" } as const;
  const log = [ACCEPTED, asked("call_0_0"), asked("call_0_1"), approved];
  expect(waitingApprovals(foldAll(log)).map((each) => each.call_id)).toEqual(["call_0_1"]);
  const stopped = { type: "request.cancelled", at: 7, by: "user" } as const;
  expect(waitingApprovals(foldAll([...log, stopped]))).toEqual([]);
});
