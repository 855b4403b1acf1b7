import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  REPETITION_TOKENS,
  type AnyEvent,
  type Frame,
  type SafetyChecked,
  type TokenSampled,
} from "../../protocol/events";
import { ACCEPTED, CANCELLED, ended, failed, foldAll, LOOKED_UP, PARAMS, token, WITHHELD } from "../fixtures";
import { findings, nothingUnusual } from "./findings";
import { cycleOf, repeated } from "./wording";

const LOGS = new URL("../../../../tests/golden/logs/", `file://${import.meta.dirname}/`).pathname;
const golden = Object.fromEntries(
  readdirSync(LOGS).map((name) => {
    const { frames } = JSON.parse(readFileSync(LOGS + name, "utf8")) as { frames: Frame[] };
    return [name.replace(".json", ""), frames.flatMap(({ events }) => events)];
  }),
);

const of = (...events: object[]) => findings(foldAll([ACCEPTED, ...(events as AnyEvent[])]));
const kinds = (...events: object[]) => of(...events).map(({ kind }) => kind);
const sentence = (kind: string, ...events: object[]) =>
  of(...events).find((each) => each.kind === kind)?.sentence;

const queued = (at: number, queue_depth: number) => ({
  type: "generation.queued",
  at,
  attempt: 1,
  queue_depth,
});
const started = (at: number, queued_us: number, rest: object = {}) => ({
  type: "generation.started",
  at,
  worker: "worker:1",
  attempt: 1,
  device: "cpu",
  model: "small",
  server: null,
  queued_us,
  cache_shape: null,
  ...rest,
});
const chunk = (at: number, step_us: number, total = 64) => ({
  type: "prefill.advanced",
  at,
  start: 0,
  end: total,
  total,
  step_us,
  num_sequences: 1,
});
const released = (at: number) => ({ type: "text.released", at, text: " a", num_tokens: 1 });
const sampled = (position: number, at: number, rest: Partial<TokenSampled> = {}) => ({
  ...token(position, at),
  ...rest,
});
const prompt = (num: number, lossy_bytes = 0) => ({
  type: "prompt.tokenized",
  at: 1,
  ids: Array.from({ length: num }, (_, index) => index),
  pieces: Array.from({ length: num }, () => btoa("a")),
  special: [],
  lossy_bytes,
  duration_us: 1,
});
const checked = (verdict: SafetyChecked["verdict"], score: number) => ({
  type: "safety.checked",
  at: 100,
  layer: "input",
  verdict,
  scores: [{ category: "self_harm", score, threshold: 0.6, verdict }],
  start: 0,
  end: 5,
  duration_us: 50,
});
const withParams = (params: object) => ({ ...ACCEPTED, params: { ...PARAMS, ...params } });

describe("any prefix of any log", () => {
  const prefixes = fc
    .constantFrom(...Object.values(golden))
    .chain((log) => fc.nat(log.length).map((num) => log.slice(0, num)));
  /** Any golden events in any order. */
  const scrambled = fc.array(fc.constantFrom(...Object.values(golden).flat()), { maxLength: 60 });

  it("has findings in the order of their weight, each a whole sentence", () => {
    fc.assert(
      fc.property(fc.oneof(prefixes, scrambled), (events) => {
        const view = foldAll(events);
        const found = findings(view);
        const weights = found.map(({ weight }) => weight);
        expect(weights).toEqual(weights.toSorted((a, b) => b - a));
        for (const { sentence, weight } of found) {
          expect(weight >= 0 && weight <= 1).toBe(true);
          expect(sentence).toMatch(/^[^a-z].*[.]$/su);
          expect(sentence).not.toMatch(/undefined|NaN|null|Infinity/);
        }
        expect(nothingUnusual(view)).toMatch(/^Nothing .*\.$/s);
        expect(new Set(found.map(({ kind }) => kind)).size).toBe(found.length);
      }),
      { numRuns: 300 },
    );
  });
});

it("tells of each recorded log what stands out in it", () => {
  const told = Object.fromEntries(
    Object.entries(golden).map(([name, log]) => [name, findings(foldAll(log)).map(({ kind }) => kind)]),
  );
  expect(told).toEqual({
    blocked: ["blocked"],
    finished: [],
    lost: ["failed"],
    remote: ["cut"],
    second_taken_over: ["cut", "resumed"],
    second_turn: ["cut", "cache"],
    stopped: ["stopped"],
    taken_over: ["cut", "resumed"],
    two_generations: [],
  });
  expect(nothingUnusual(foldAll(golden.finished!))).toBe(
    "Nothing unusual: the first text came 139\u00a0ms after it was accepted, the model wrote 95 tokens a second, and the model ended its turn itself.",
  );
  expect(findings(foldAll(golden.taken_over!))[1]!.sentence).toMatch(/The answer paused for 3\.06\ss\.$/);
  expect(findings(foldAll(golden.second_turn!))[1]!.sentence).toMatch(
    /^Only 32 of 119 prompt tokens came from the cache\. Token 35 is the first difference: a number changed/,
  );
});

it("tells of a pause, to the next token, before a token as odd as can be", () => {
  const found = of(
    ...[0, 1, 2].map((position) => sampled(position, 600_000 + position * 10_000)),
    { type: "generation.interrupted", at: 3_000_000, attempt: 1, cause: "lost", worker: "a", silent_us: 10 },
    { type: "generation.resumed", at: 3_100_000, attempt: 2, worker: "b", num_tokens: 3 },
    sampled(3, 3_600_000, { logprob: -80, entropy: 0.1 }),
  );
  expect(found.slice(0, 2).map(({ kind }) => kind)).toEqual(["resumed", "odd"]);
  expect(found[0]!.sentence).toMatch(/^Its worker was lost\..* The answer paused for 2\.98\ss\.$/);
});

describe("the wait for the first text", () => {
  it("is put down to the queue, and to how many stood in front", () => {
    const [found] = of(
      queued(1000, 4),
      started(3_100_000, 1000),
      chunk(3_300_000, 190_000),
      released(3_400_000),
    );
    expect(found!.kind).toBe("wait-queue");
    expect(found!.sentence).toBe(
      "The request spent most of the wait for its first text (3.10\u00a0s of 3.40\u00a0s) in the queue for a worker, behind 4 requests.",
    );
  });
  it("is told apart from the wait inside the engine", () => {
    const found = sentence(
      "wait-queue",
      queued(1000, 0),
      queued(1_000_000, 2),
      started(3_100_000, 3_000_000),
      chunk(3_300_000, 190_000),
      released(3_400_000),
    );
    expect(found).toContain("in the engine's queue, until there was room, behind 2 requests");
  });
  it("is put down to the prompt's reading, at its first chunk", () => {
    const [found] = of(
      queued(1000, 0),
      started(2000, 500),
      chunk(2_000_000, 1_990_000),
      sampled(0, 2_000_100),
      released(2_100_000),
    );
    expect(found!.sentence).toContain(
      "in prefill, while the model read the prompt (64 tokens, none of it from the cache)",
    );
    expect(found!.at).toBe(2_000_000);
  });
  it("names the two longest parts where none is most of it", () => {
    const [found] = of(
      { ...checked("allow", 0.1), at: 900_000, duration_us: 900_000 },
      queued(900_000, 1),
      started(1_700_000, 0),
      chunk(2_200_000, 500_000),
      sampled(0, 2_200_001),
      released(2_200_002),
    );
    expect(found!.sentence).toMatch(
      /^The wait for the first text, 2\.20\ss, has no single cause\. The request spent 900\sms on the safety check/,
    );
    expect(found!.sentence).toContain("in the queue for a worker, behind 1 request");
  });
  it("is not spoken of while it is short", () => {
    expect(kinds(queued(1000, 4), started(800_000, 0), chunk(900_000, 90_000), released(990_000))).toEqual(
      [],
    );
  });
});

describe("the writing", () => {
  const steady = (num: number, each: number, rest: Partial<TokenSampled> = {}) =>
    Array.from({ length: num }, (_, index) =>
      sampled(index, 100_000 + index * each, { step_us: each, batch_size: 1, id: index, ...rest }),
    );
  it("was slowed by its batch, as far as its pace alone is known", () => {
    const alone = steady(20, 10_000);
    const crowded = Array.from({ length: 20 }, (_, index) =>
      sampled(20 + index, 300_000 + (index + 1) * 60_000, { step_us: 60_000, batch_size: 8, id: 20 + index }),
    );
    expect(sentence("batch", ...alone, ...crowded)).toBe(
      "Up to 7 other requests in the same steps slowed the writing by about 1\u00a0s of 1.40\u00a0s. A token took 60.0\u00a0ms beside others, 10.0\u00a0ms alone.",
    );
    expect(sentence("batch", ...steady(9, 10_000, { batch_size: 8 }))).toContain(
      "this request never wrote alone",
    );
    expect(kinds(...steady(9, 10_000, { batch_size: 2 }))).toEqual([]);
  });
  it("stood still at one token", () => {
    const found = of(...steady(9, 10_000), sampled(9, 2_500_000, { id: 99 })).find(
      ({ kind }) => kind === "stall",
    )!;
    expect(found.sentence).toMatch(/^Writing paused for 2\.32\ss between token 9 and token 10\./);
    expect(found.position).toBe(9);
  });
  it("was preempted, which took until the next token", () => {
    const preempted = { type: "generation.preempted", at: 185_000, num_tokens: 40, num_blocks: 3 };
    const found = of(...steady(9, 10_000), preempted, preempted, sampled(9, 1_185_000, { id: 9 }));
    expect(found.map(({ kind }) => kind)).toEqual(["preempted"]);
    expect(found[0]!.sentence).toContain("the engine preempted the request twice");
    expect(found[0]!.sentence).toContain("the model read 80 tokens again");
    expect(found[0]!.at).toBe(185_000);
  });
  it("was slower than it is read, by the steps themselves", () => {
    expect(sentence("slow", started(2000, 500), ...steady(6, 400_000))).toBe(
      "The model wrote 2.5 tokens a second, slower than most people read: a step takes 400\u00a0ms (small on cpu).",
    );
  });
  it("guessed ahead in vain, or waited for its grammar", () => {
    const guesses = Array.from({ length: 10 }, (_, index) => {
      const at = 300_000 + index * 200_000;
      return [
        {
          type: "draft.verified",
          at,
          position: 20 + index,
          ids: [1, 2, 3],
          pieces: ["", "", ""],
          num_accepted: 0,
          source: "ngram",
        },
        sampled(20 + index, at, { step_us: 200_000, batch_size: 1, id: 20 + index }),
      ];
    }).flat();
    expect(sentence("drafts", ...steady(20, 10_000), ...guesses)).toContain("0 of 30 guesses were right");
    const mask = { type: "grammar.masked", at: 1, position: 0, num_allowed: 3, duration_us: 600_000 };
    expect(sentence("grammar", mask, ...steady(20, 60_000))).toContain("took 600\u00a0ms of the 1.14\u00a0s");
  });
});

describe("a long request", () => {
  const written = (num: number, stepUs: (index: number) => number, batch_size: number | null = 1) => {
    let at = 200_000;
    const tokens = Array.from({ length: num }, (_, index) => {
      at += stepUs(index);
      return sampled(index, at, { step_us: stepUs(index), batch_size, id: index });
    });
    const [finished] = ended("stop").slice(-1);
    return [...tokens, { ...finished, at: at + 100_000 }];
  };
  it("says what its time went into, and that no step was shared", () => {
    expect(sentence("long", ...written(1001, () => 13_600))).toBe(
      "The request took 13.91\u00a0s. Writing 1,001 tokens took 13.60\u00a0s of it, 13.6\u00a0ms each. No step was shared with another request.",
    );
  });
  it("puts slower steps down to the context only where it wrote alone", () => {
    const slower = (index: number) => 10_000 + 10 * index;
    expect(sentence("long", ...written(1001, slower))).toMatch(
      /A step took 10\.5\sms at first and 19\.\d\sms at the end, as the context grew longer\. No step/,
    );
    const beside = sentence("long", ...written(1001, slower, 2))!;
    expect(beside).toMatch(/at the end\. Other requests shared 1,00\d of 1,00\d steps\.$/);
    expect(sentence("long", ...written(1001, slower, null))).toMatch(/at the end\.$/);
  });
  it("is spoken of from ten seconds on", () => {
    expect(kinds(...written(600, () => 13_600))).toEqual([]);
  });
});

describe("the prompt", () => {
  const compared = {
    type: "context.compared",
    at: 9,
    request_id: "req_b",
    num_prompt_tokens: 100,
    num_answer_tokens: 10,
    num_common_tokens: 12,
    here: [],
    there: [],
    is_number: false,
    added: [],
    changed: [],
    removed: [],
  };
  const assembled = {
    type: "context.assembled",
    at: 1,
    window: 512,
    num_prompt_tokens: 100,
    segments: [{ kind: "system", role: "system", start: 0, end: 20, source: "", text: "" }],
    dropped: [],
    duration_us: 1,
  };
  it("was computed whole since what it begins with was changed", () => {
    const none = { ...LOOKED_UP, hits: Array(6).fill(false), num_cached_tokens: 0 };
    expect(sentence("cache", assembled, prompt(100), none, compared)).toBe(
      "The model computed the whole prompt: none of its 100 tokens came from the cache. Token 13 is the first difference: the system prompt changed.",
    );
    expect(kinds(assembled, prompt(100), none)).toEqual([]);
    expect(kinds(assembled, prompt(40), { ...none, hits: [false, false] }, compared)).toEqual([]);
  });
  it("lost messages and bytes", () => {
    const dropped = [{ kind: "history", source: "message:1", num_tokens: 100, reason: "", text: "" }];
    expect(sentence("dropped", { ...assembled, dropped })).toMatch(
      /^1 earlier message \(100 tokens\) did not fit/,
    );
    expect(sentence("lossy", prompt(5, 3))).toBe(
      "3 bytes of the text have no token and did not reach the model.",
    );
  });
});

describe("the wording", () => {
  it("has a draw that is far less likely than is usual at its place", () => {
    const found = of(
      sampled(0, 1),
      sampled(1, 2, { id: 12, piece: btoa("c"), logprob: Math.log(0.02), entropy: 0.5 }),
    )[0]!;
    expect(found.sentence).toBe(
      "Token 2, “c”, was an unlikely draw: the model gave it 2.00\u00a0%, and “·a” 64.4\u00a0%.",
    );
    expect(found.position).toBe(1);
    expect(kinds(sampled(0, 1, { logprob: Math.log(0.02), entropy: 3.9 }))).toEqual([]);
    expect(kinds(sampled(0, 1, { logprob: Math.log(0.02), entropy: 0.5, chosen_by: "person" }))).toEqual([]);
  });
  it("was not the model's own where something stood against that", () => {
    const processors = [
      {
        name: "grammar",
        num_candidates: 1,
        mass: 1,
        log_normalizer: 0,
        logits: null,
        first: 0,
        masked: [10],
      },
    ];
    const bent = {
      id: 12,
      piece: btoa("c"),
      logprob: Math.log(0.001),
      entropy: 0.5,
      processors,
    } as Partial<TokenSampled>;
    expect(sentence("odd", sampled(0, 1, bent))).toContain("The settings decided otherwise: the grammar.");
  });
  it("repeats one cycle", () => {
    const ids = [...[1, 2, 3, 4, 5], ...Array.from({ length: 78 }, (_, index) => 10 + (index % 6))];
    const found = of(...ids.map((id, index) => sampled(index, index * 1000, { id })))[0]!;
    expect([found.kind, found.position]).toEqual(["loop", 5]);
    expect(found.sentence).toBe("The answer repeats itself from token 6 on: the same 6 tokens 13 times.");
  });
  it("repeats the same words with others between them", () => {
    const ids = Array.from({ length: 12 }, (_, nth) => [...Array(10).keys(), 100 + nth]).flat();
    const found = of(...ids.map((id, index) => sampled(index, index * 1000, { id })))[0]!;
    expect([found.kind, found.position]).toEqual(["loop", 11]);
    expect(found.sentence).toMatch(
      /^The answer repeats itself: 83\.3\s% of it appears earlier in it, 8 or more tokens in a row/,
    );
    expect(repeated(Array.from({ length: 200 }, (_, index) => index))).toEqual({ count: 0, first: -1 });
  });
  it("repeats no cycle where nothing comes three times, and else the shortest", () => {
    expect(cycleOf([])).toBeNull();
    expect(cycleOf(Array.from({ length: 200 }, (_, index) => index))).toBeNull();
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 3, max: 30 }), (size, times) => {
        const cycle = Array.from({ length: size }, (_, index) => index);
        const found = cycleOf([...[900, 901], ...Array.from({ length: times }, () => cycle).flat()]);
        if (size * times < REPETITION_TOKENS) expect(found).toBeNull();
        else expect(found).toEqual({ start: 2, size, times });
      }),
    );
  });
});

describe("the end", () => {
  it.each([
    [
      "cut",
      [
        { type: "context.assembled", at: 1, window: 512, num_prompt_tokens: 9, segments: [], dropped: [] },
        sampled(0, 1, {}),
        ...Array.from({ length: 7 }, (_, index) => sampled(index + 1, index, { id: index })),
        ...ended("length"),
      ],
      "length limit (8 tokens)",
    ],
    ["stopped", [sampled(0, 1), CANCELLED, ...ended("abort")], "The user stopped it after 1 token"],
    ["withheld", [WITHHELD, ...ended("content_filter")], "withheld the whole answer: 1 token (self harm)"],
    ["withheld", [released(5), WITHHELD, ...ended("content_filter")], "withheld the rest of the answer"],
    [
      "blocked",
      [checked("block", 0.97), failed("safety", "blocked")],
      "self harm: score 0.97, over the limit of 0.60",
    ],
    ["failed", [failed("generation", "worker_lost")], "The worker was lost. Because."],
    ["empty", [sampled(0, 1, { is_special: true }), ...ended("stop")], "the answer is empty"],
    [
      "flagged",
      [checked("flag", 0.7)],
      "flagged the message (self harm: score 0.70, over the limit of 0.60) but allowed it",
    ],
    [
      "resumed",
      [
        {
          type: "generation.interrupted",
          at: 4_000_000,
          attempt: 1,
          cause: "lost",
          worker: "a",
          silent_us: 2_000_000,
        },
        { type: "generation.resumed", at: 5_000_000, attempt: 2, worker: "b", num_tokens: 7 },
      ],
      "Its worker was lost. Attempt 2 on b continued after 7 tokens. The answer paused for 3",
    ],
    [
      "tool",
      [
        { type: "tool.called", at: 1, call_id: "a", name: "search" },
        { type: "tool.finished", at: 2, call_id: "a", is_error: true },
      ],
      "The tool search failed",
    ],
  ] as [string, object[], string][])("is told where it is %s", (kind, events, words) => {
    expect(sentence(kind, ...events)).toContain(words);
  });
  it("may be the request's own stop text", () => {
    const found = of(withParams({ stop: ["\n\n"] }), sampled(0, 1), released(2), ...ended("stop"));
    expect(found.map(({ kind }) => kind)).toEqual(["stop-text"]);
    expect(
      kinds(withParams({ stop: ["x"] }), released(1), sampled(0, 1, { is_special: true }), ...ended("stop")),
    ).toEqual([]);
  });
});

it("asks of a bill what most of it is for, once it is large enough", () => {
  const line = (kind: string, num_tokens: number, unit_price_nano: number) => ({
    kind,
    num_tokens,
    unit_price_nano,
    amount_nano: num_tokens * unit_price_nano,
  });
  const bill = (...lines: ReturnType<typeof line>[]) => ({
    type: "bill.posted",
    at: 9,
    currency: "USD",
    lines,
    total_nano: lines.reduce((sum, { amount_nano }) => sum + amount_nano, 0),
  });
  expect(sentence("cost", bill(line("uncached_input", 100, 20_000), line("output", 512, 80_000)))).toBe(
    "Most of the cost (95.3\u00a0%) is the answer: 512 tokens, each at 4 times the price of a prompt token.",
  );
  expect(sentence("cost", bill(line("uncached_input", 4000, 20), line("output", 12, 80)))).toContain(
    "is the prompt: 4,000 tokens computed",
  );
  expect(kinds(bill(line("output", 90, 80_000)))).toEqual([]);
  // An answer that costs most of a little is as usual.
  expect(kinds(bill(line("uncached_input", 100, 20), line("output", 512, 80)))).toEqual([]);
});
