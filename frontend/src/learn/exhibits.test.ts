/** Checks the exhibits' requests to the simulated machine, and their reading of its run. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Simulation, SimulatedStep } from "../protocol/events";
import { byteByByte, characters, type Piece } from "../tokenizer/cutter";
import { figuresOf, requestOf, spansOf, type Load } from "./batching/load";
import { blocksAt, sceneOf, tellStep, NUM_BLOCKS } from "./cache/requests";
import { grouped, requestOf as talkRequest } from "./context/conversation";
import { costOf } from "../trace/usage";
import { summed } from "./cost";
import { costsOf, paysFrom, requestOf as keepingRequest, WAYS } from "./economics/caching";
import { barsOf, requestOf as jobRequest, speedsOf } from "./prefill/speeds";
import { lengthOf, decodedTokens } from "./streaming/decoding";
import { clockOf } from "./simulation";
import { emptyView } from "../trace/view";
import { token } from "../trace/fixtures";

const LOAD: Load = {
  numRequests: 2,
  everyMs: 10,
  numPrompt: 8,
  numAnswer: 2,
  atOnce: 2,
  chunk: 1,
  hasLong: false,
};
const CLOCK = { step_us: 1000, token_us: 100, isMeasured: true };
const USAGE = { uncached_input: 8, cache_read: 0, cache_write_5m: 0, cache_write_1h: 0, output: 2 };

function step(
  at_us: number,
  shares: [number, number, boolean][],
  rest: Partial<SimulatedStep> = {},
): SimulatedStep {
  return {
    at_us,
    duration_us: 1000,
    shares: shares.map(([arrival, num_tokens, is_prefill]) => ({ arrival, num_tokens, is_prefill })),
    waiting: [],
    notes: [],
    blocks: [],
    idle: [],
    ...rest,
  };
}

const story = (first_token_us: number, finished_us: number) => ({
  admitted_us: 0,
  first_token_us,
  finished_us,
  longest_gap_us: finished_us - first_token_us,
  num_preemptions: 0,
  usage: USAGE,
});

describe("batching", () => {
  it("asks for requests that have nothing in common, within the scheduler's bounds", () => {
    const { arrivals, mixed_budget, max_num_running } = requestOf(LOAD, CLOCK);
    expect(arrivals.map(({ at_us }) => at_us)).toEqual([0, 10_000]);
    expect(mixed_budget).toBeGreaterThan(max_num_running);
    const ids = arrivals.flatMap(({ prompt, answer }) => [...prompt, ...answer]);
    expect(new Set(ids).size).toBe(20);
    expect(requestOf({ ...LOAD, hasLong: true }, CLOCK).arrivals[1]!.prompt).toHaveLength(1500);
  });

  it("draws each request's way without gaps: waiting, then chunks, then decode steps as one", () => {
    const request = requestOf({ ...LOAD, everyMs: 0 }, CLOCK);
    const steps = [
      step(0, [[0, 8, true]]),
      step(1000, [
        [0, 1, false],
        [1, 8, true],
      ]),
      step(2000, [
        [0, 1, false],
        [1, 1, false],
      ]),
    ];
    const run: Simulation = { block_size: 16, steps, stories: [story(1000, 3000), story(2000, 3000)] };
    const [first, second] = spansOf(request, run);
    expect(first!.map(({ kind, start, end }) => [kind, start, end])).toEqual([
      ["prefill", 0, 1000],
      ["decode", 1000, 3000],
    ]);
    expect(second!.map(({ kind, start, end }) => [kind, start, end])).toEqual([
      ["waiting", 0, 1000],
      ["prefill", 1000, 2000],
      ["decode", 2000, 3000],
    ]);
    expect(figuresOf(request, run)).toEqual({
      total: 3000,
      tokensPerSecond: 4 / 0.003,
      firstToken: 1500,
      longestGap: 2000,
    });
  });

  it("takes its clock from the request beside, where that tells", () => {
    expect(clockOf(null).isMeasured).toBe(false);
    const chunk = {
      type: "prefill.advanced" as const,
      generation: 0,
      at: 1,
      start: 0,
      end: 100,
      total: 100,
      step_us: 50_000,
      num_sequences: 1,
    };
    const view = { ...emptyView(), prefill: [chunk], tokens: [token(0, 1), token(1, 2)] };
    expect(clockOf(view)).toEqual({ step_us: 9500, token_us: 500, isMeasured: true });
  });
});

describe("blocks", () => {
  it("lets a conversation go on with its own beginning, and gives others nothing of it", () => {
    const { request, asked } = sceneOf(["ask", "on", "other", "twice"], characters);
    const [first, next, other, twice, again] = request.arrivals.map(({ prompt, answer, user }) => ({
      prompt,
      user,
      text: [...prompt, ...answer].join(),
    }));
    expect(next!.text.startsWith(first!.prompt.join())).toBe(true);
    expect([other!.prompt, other!.user]).toEqual([first!.prompt, "Ben"]);
    expect(again!.prompt).toEqual(twice!.prompt);
    expect(asked.map(({ user, nth }) => `${user} ${nth}`)).toEqual([
      "Ana 1",
      "Ana 2",
      "Ben 1",
      "Ana 3",
      "Ana 4",
    ]);
    expect(sceneOf(["ask", "dated"], characters).request.arrivals[1]!.prompt[0]).not.toBe(first!.prompt[0]);
  });

  it("knows each block as it was last told of", () => {
    const block = { block: 3, state: "owned" as const, num_owners: 1, arrival: 0, start: 0, num_tokens: 5 };
    const steps = [
      step(0, [], { blocks: [block] }),
      step(1, []),
      step(2, [], { blocks: [{ ...block, num_tokens: 6 }] }),
    ];
    const run: Simulation = { block_size: 16, steps, stories: [] };
    expect(blocksAt(run, 1)[3]!.num_tokens).toBe(5);
    expect(blocksAt(run, 2)[3]!.num_tokens).toBe(6);
    expect(blocksAt(run, 2)).toHaveLength(NUM_BLOCKS);
    const scene = sceneOf(["ask"], characters);
    const noted = step(0, [[0, 20, true]], { notes: [{ kind: "admitted", arrival: 0, num: 32 }] });
    expect(tellStep({ ...run, steps: [noted] }, scene, 0)).toMatch(
      /^Ana 1: the cache has 32 of its \d+ tokens, in 2 full blocks/,
    );
  });
});

const PRICES = {
  currency: "USD",
  version: "2026-01-01",
  unit_prices_nano: { uncached_input: 20, cache_read: 2, cache_write_5m: 25, cache_write_1h: 40, output: 80 },
};

describe("context and economics", () => {
  it("sorts a prompt's tokens by what they are for, and loses none", () => {
    const turn = {
      ids: [1, 2, 3, 4, 5, 6],
      segments: [
        { kind: "system" as const, num_tokens: 1 },
        { kind: "history" as const, num_tokens: 2 },
        { kind: "template" as const, num_tokens: 1 },
        { kind: "user" as const, num_tokens: 2 },
      ],
      num_dropped: 0,
      num_dropped_tokens: 0,
      reserved: 8,
      answer_ids: [7],
    };
    expect(grouped(turn)).toEqual({ instructions: 2, history: 2, question: 2 });
    const { arrivals, has_cache } = talkRequest([turn, turn], false);
    expect(has_cache).toBe(false);
    expect(arrivals[1]).toMatchObject({ prompt: turn.ids, answer: [7], at_us: 60_000_000 });
  });

  it("costs what the bill would say", () => {
    expect(costOf({ ...USAGE, cache_read: 10 }, PRICES)).toBe(8 * 20 + 10 * 2 + 2 * 80);
    expect(summed([1, 2, 3])).toEqual([1, 3, 6]);
  });

  it("counts the visitor's requests alone, however many others come between", () => {
    const plan = { numShared: 64, numRequests: 3, everyMinutes: 4, isBusy: true };
    const request = keepingRequest(plan, WAYS[2]);
    expect(request.arrivals).toHaveLength(3 + 4);
    expect(request.arrivals.slice(0, 3).map(({ ttl, prompt }) => [ttl, prompt.slice(0, 64).join()])).toEqual(
      Array(3).fill(["5m", Array.from({ length: 64 }, (_, id) => id).join()]),
    );
    const run: Simulation = {
      block_size: 16,
      steps: [],
      stories: Array(7).fill(story(1, 2)) as Simulation["stories"],
    };
    expect(costsOf(plan, run, PRICES)).toEqual([320, 640, 960]);
    expect(
      keepingRequest({ ...plan, numRequests: 12, numShared: 1024 }, WAYS[0]).arrivals.length,
    ).toBeLessThanOrEqual(48);
  });

  it("says from when on one way is cheaper, and stays so", () => {
    expect(paysFrom([25, 27, 29], [20, 40, 60])).toBe(2);
    expect(paysFrom([1, 50, 60], [20, 40, 60])).toBeNull();
    expect(paysFrom([1, 2, 3], [20, 40, 60])).toBe(1);
  });
});

describe("prefill", () => {
  it("tells steps that read from those that write", () => {
    const steps = [
      step(0, [[0, 8, true]]),
      step(1000, [
        [0, 1, false],
        [1, 8, true],
      ]),
      step(2000, [
        [0, 1, false],
        [1, 1, false],
      ]),
    ];
    const { reading, writing } = speedsOf(barsOf({ block_size: 16, steps, stories: [] }));
    expect(reading).toEqual({ numTokens: 16, us: 2000 });
    expect(writing).toEqual({ numTokens: 2, us: 1000 });
  });

  it("asks within the simulation's bounds, whatever the sliders say", () => {
    const { arrivals, max_num_running } = jobRequest(
      { numPrompt: 1536, numAnswer: 128, numBeside: 16 },
      CLOCK,
    );
    expect(
      arrivals.reduce((sum, { prompt, answer }) => sum + prompt.length + answer.length, 0),
    ).toBeLessThanOrEqual(65_536);
    expect(max_num_running).toBe(16);
  });
});

describe("streaming", () => {
  it("lets out every character once it is whole, holds the rest, and loses no byte", () => {
    const cuts = fc.array(fc.integer({ min: 1, max: 4 }));
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 30 }), cuts, (text, sizes) => {
        const pieces: Piece[] = [];
        const bytes = byteByByte.cut(text).map(({ id }) => id);
        for (let at = 0, nth = 0; at < bytes.length; nth++) {
          const size = sizes[nth % Math.max(1, sizes.length)] ?? 1;
          pieces.push({ id: nth, label: "", bytes: Uint8Array.from(bytes.slice(at, at + size)) });
          at += size;
        }
        let seen = "";
        let numBytes = 0;
        for (const { piece, released, buffered } of decodedTokens(pieces)) {
          seen += released;
          numBytes += piece.bytes!.length;
          expect(text.startsWith(seen)).toBe(true);
          expect(new TextEncoder().encode(seen).length + buffered.length).toBe(numBytes);
          if (buffered.length) expect(lengthOf(buffered[0]!)).toBeGreaterThan(buffered.length);
        }
        expect(seen).toBe(text);
      }),
    );
  });

  it("shows what becomes of a character whose bytes are decoded apart", () => {
    const [first, second] = decodedTokens(byteByByte.cut("é"));
    expect([first!.alone, first!.released, first!.buffered]).toEqual(["\ufffd", "", [0xc3]]);
    expect([second!.alone, second!.released, second!.buffered]).toEqual(["\ufffd", "é", []]);
  });
});
