import { expect, it } from "vitest";
import { foldAll, ACCEPTED } from "../trace/fixtures";
import { callsOf, withCalls } from "./calls";

const CALL = '{"name": "calculator", "arguments": {"expression": "17 * 23"}}';

it("shows a call as a block of code, also while it is written", () => {
  expect(withCalls(`First.<tool_call>${CALL}</tool_call>391`)).toBe(
    `First.\n\n\`\`\`\`tool call\n${CALL}\n\`\`\`\`\n\n391`,
  );
  expect(withCalls(`<tool_call>${CALL.slice(0, 30)}`)).toBe(
    `\`\`\`\`tool call\n${CALL.slice(0, 30)}\n\`\`\`\``,
  );
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
