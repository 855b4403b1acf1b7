import { expect, it } from "vitest";
import fc from "fast-check";
import type { AnyEvent, ContextCompared } from "../../protocol/events";
import { blocksOf, memoryOf } from "./blocks";
import { ACCEPTED, foldAll, LOOKED_UP, token } from "../fixtures";
import { missOf } from "./misses";

function prompt(numTokens: number): AnyEvent {
  const ids = Array.from({ length: numTokens }, (_, index) => index);
  return {
    type: "prompt.tokenized",
    at: 1,
    ids,
    pieces: ids.map(() => btoa("a")),
    special: [],
  } as unknown as AnyEvent;
}

const chunk = (end: number) =>
  ({ type: "prefill.advanced", at: 2, start: 0, end, total: end, step_us: 1 }) as AnyEvent;
const lookUp = (num_cached_tokens: number, rest = {}): AnyEvent => ({
  ...LOOKED_UP,
  num_cached_tokens,
  ...rest,
});

it("tells of each block whence it came and how full it is", () => {
  const origins = (events: AnyEvent[]) =>
    blocksOf(foldAll([prompt(50), lookUp(20), ...events])).map(({ origin }) => origin);
  expect(origins([])).toEqual(["taken", "partly", "waiting", "waiting"]);
  expect(origins([chunk(40)])).toEqual(["taken", "partly", "computed", "waiting"]);
  const whole = blocksOf(foldAll([prompt(50), lookUp(20), chunk(50), token(0, 3), token(1, 4)]));
  expect(whole.at(-1)).toMatchObject({
    first: 48,
    end: 52,
    origin: "computed",
    filled: 3 / 16,
    isAnswer: true,
  });
});

it("knows a block's users from the look-up, and what is kept from what was stored later", () => {
  const stored = {
    type: "cache.stored",
    at: 9,
    num_blocks: 1,
    ttl: "none",
    indices: [3],
  } as AnyEvent;
  const recorded = { num_owners: [2, 1] };
  const blocks = blocksOf(
    foldAll([prompt(48), lookUp(32, recorded), chunk(48), ...[0, 1].map((each) => token(each, 5)), stored]),
  );
  expect(blocks.map(({ numOwners }) => numOwners)).toEqual([2, 1, null, null]);
  expect(blocks.map(({ isStored }) => isStored)).toEqual([true, true, false, true]);
});

it("has one block for every block_size tokens, none over another, at any moment", () => {
  fc.assert(
    fc.property(fc.nat(200), fc.nat(200), fc.nat(200), fc.nat(40), (rest, cached, read, numTokens) => {
      const numPrompt = rest + 1;
      const events = [
        prompt(numPrompt),
        lookUp(Math.min(cached, numPrompt - 1)),
        chunk(Math.min(read, numPrompt)),
      ];
      const answer = read >= numPrompt ? numTokens : 0;
      const blocks = blocksOf(
        foldAll([...events, ...Array.from({ length: answer }, (_, each) => token(each, 5))]),
      );
      expect(blocks.at(-1)!.end).toBe(numPrompt + answer);
      blocks.forEach((block, index) => {
        expect(block.first).toBe(index * 16);
        expect(block.filled > 0).toBe(block.origin !== "waiting");
      });
    }),
  );
});

it("counts the memory of keys and values, with and without heads that share", () => {
  const shape = {
    num_layers: 30,
    num_heads: 9,
    num_kv_heads: 3,
    head_dim: 64,
    bytes_per_value: 2,
    block_size: 16,
    num_blocks: 10,
  };
  expect(memoryOf(shape, 2)).toEqual({
    perTokenAndLayer: 768,
    perToken: 23_040,
    perBlock: 368_640,
    own: 737_280,
    ungrouped: 3 * 737_280,
    whole: 3_686_400,
  });
});

const COMPARED: ContextCompared = {
  type: "context.compared",
  at: 9,
  request_id: "req_before",
  model: "m",
  num_prompt_tokens: 60,
  num_answer_tokens: 20,
  num_common_tokens: 40,
  here: [btoa("x")],
  there: [],
  is_number: false,
  added: [],
  changed: [],
  removed: [],
};
const REMOVED = {
  kind: "history",
  source: "m1",
  num_tokens: 9,
  reason: "the window is full",
  text: "",
} as const;

it.each([
  ["a prompt below one block", 16, 0, {}, null, "short"],
  ["all that there could be", 100, 96, {}, null, "none"],
  ["nothing to compare with", 100, 0, { absence: "unknown" }, null, "unknown"],
  ["what had expired, though nothing is compared", 100, 0, { absence: "expired" }, null, "expired"],
  ["what made room, though the text is the same", 100, 16, { absence: "evicted" }, {}, "evicted"],
  ["what was never kept here", 100, 0, { absence: "never" }, {}, "never-stored"],
  ["what was never kept here, with nothing to compare", 100, 0, { absence: "never" }, null, "never-stored"],
  ["what may have been evicted long ago", 100, 0, { absence: "unknown" }, {}, "unknown"],
  ["another model", 100, 0, {}, { model: "other" }, "other-model"],
  [
    "text that goes on where the turn before ended",
    100,
    64,
    {},
    { num_common_tokens: 80, here: [] },
    "new-text",
  ],
  ["a number that changed", 100, 32, {}, { is_number: true }, "time-stamp"],
  [
    "a number that changed, in a trace that has the tokens of both sides instead",
    100,
    32,
    {},
    { is_number: null, here: [btoa(" 31")], there: [btoa("14")] },
    "time-stamp",
  ],
  [
    "a word in such a trace, where a number was",
    100,
    32,
    {},
    { is_number: null, here: [btoa(" noon")], there: [btoa("14")] },
    "system-prompt",
  ],
  [
    "a number or not, which is not known",
    100,
    32,
    {},
    { is_number: null, here: [btoa("31")] },
    "system-prompt",
  ],
  ["another system prompt", 100, 32, {}, {}, "system-prompt"],
  [
    "an answer that was read back as other tokens",
    100,
    64,
    {},
    { num_common_tokens: 70 },
    "answer-retokenized",
  ],
] as const)("names the cause: %s", (_, numPrompt, numCached, lookedUp, compared, cause) => {
  const context = {
    type: "context.assembled",
    at: 1,
    segments: [
      { kind: "system", role: "system", start: 0, end: numPrompt, source: "conversation:system", text: "" },
    ],
    dropped: [],
  } as unknown as AnyEvent;
  const accepted = { ...ACCEPTED, model: "m" } as AnyEvent;
  const events = [accepted, context, prompt(numPrompt), lookUp(numCached, lookedUp)];
  const miss = missOf(foldAll(compared ? [...events, { ...COMPARED, ...compared } as AnyEvent] : events))!;
  expect(miss.cause).toBe(cause);
  expect(miss.sentence).toMatch(/\.$/);
});

it("says of a first message that there is nothing to reuse yet, unless its block is known to have gone", () => {
  const context = (kinds: string[], dropped: object[] = []) =>
    ({
      type: "context.assembled",
      at: 1,
      segments: kinds.map((kind, index) => ({ kind, role: "", start: index, end: index + 1, source: "" })),
      dropped,
    }) as unknown as AnyEvent;
  const miss = (kinds: string[], absence: "never" | "unknown" | "evicted", dropped: object[] = []) =>
    missOf(foldAll([context(kinds, dropped), prompt(100), lookUp(0, { absence })]))!;
  expect(miss(["system", "user"], "never").sentence).toBe(
    "First message of this chat: nothing to reuse yet.",
  );
  expect(miss(["user"], "unknown").cause).toBe("first-turn");
  expect(miss(["user"], "evicted").cause).toBe("evicted");
  expect(miss(["history", "user"], "never").cause).toBe("never-stored");
  expect(miss(["user"], "unknown", [REMOVED]).cause).toBe("unknown");
});

it("names what is no longer in the prompt, and whether it was left out for room", () => {
  const context = (dropped: object[]) =>
    ({ type: "context.assembled", at: 1, segments: [], dropped }) as unknown as AnyEvent;
  const causes = [[REMOVED], []].map(
    (dropped) =>
      missOf(
        foldAll([context(dropped), prompt(100), lookUp(32), { ...COMPARED, removed: [REMOVED] } as AnyEvent]),
      )!.cause,
  );
  expect(causes).toEqual(["trimmed", "edited"]);
});

it("knows an empty cache, whatever there is to compare with", () => {
  const cause = (was_empty: boolean, more: AnyEvent[]) =>
    missOf(foldAll([prompt(100), lookUp(0, { was_empty }), ...more]))!.cause;
  expect([cause(true, []), cause(true, [COMPARED])]).toEqual(["empty", "empty"]);
  expect(cause(false, [])).toBe("unknown");
});
