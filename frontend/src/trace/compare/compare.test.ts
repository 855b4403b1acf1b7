import fc from "fast-check";
import { expect, test } from "vitest";
import type { AnyEvent, CacheLookedUp, SamplingParams, Segment } from "../../protocol/events";
import { cacheSentence, contextDiff, partingSentence } from "./context-diff";
import { chanceOf, divergence } from "./divergence";
import { figureRows, ratioText } from "./figures";
import { ACCEPTED, chosen, ended, failed, foldAll, PARAMS, RELEASED, token } from "../fixtures";
import { mainDifference, ofTwo } from "./main-difference";
import type { TraceView } from "../view";

interface Told {
  prompt?: number[];
  answer?: number[];
  hits?: boolean[] | null;
  acceptedAt?: number;
  params?: Partial<SamplingParams>;
  before?: AnyEvent[];
  end?: AnyEvent[];
}

/** A request whose first two tokens are its system prompt, the rest the user's; blocks have two tokens. */
function request({
  prompt = [1, 2, 3, 4, 5],
  answer = [10, 11],
  hits = [],
  acceptedAt = 0,
  params = {},
  before = [],
  end,
}: Told) {
  const segment = (kind: Segment["kind"], start: number, to: number) => ({
    kind,
    role: kind,
    start,
    end: to,
    source: kind,
    text: "",
  });
  const events = [
    { ...ACCEPTED, accepted_unix_us: acceptedAt, params: { ...PARAMS, ...params } },
    {
      type: "context.assembled",
      at: 1,
      window: 99,
      reserved_output: 9,
      num_prompt_tokens: prompt.length,
      segments: [segment("system", 0, 2), segment("user", 2, prompt.length)],
      dropped: [],
      duration_us: 1,
    },
    {
      type: "prompt.tokenized",
      at: 2,
      tokenizer: "t",
      version: "v",
      ids: prompt,
      pieces: prompt.map(() => "YQ=="),
      special: [],
      lossy_bytes: 0,
      duration_us: 1,
    },
    ...(hits === null
      ? []
      : [
          {
            type: "cache.looked_up",
            at: 3,
            block_size: 2,
            hits,
            num_cached_tokens: 2 * hits.filter(Boolean).length,
            saved_us: null,
            num_timed_tokens: null,
          } as Partial<CacheLookedUp>,
        ]),
    ...before,
    ...answer.map((id, position) => ({ ...token(position, 100 + position), id })),
    ...(answer.length ? [RELEASED] : []),
    ...(end ?? ended("stop")),
  ] as AnyEvent[];
  return foldAll(events);
}

const AB: [string, string] = ["A", "B"];
const cacheWords = (a: TraceView, b: TraceView) => cacheSentence(contextDiff(a, b)!, a, b, AB);

test("the same request twice has no difference", () => {
  const [a, b] = [request({}), request({ acceptedAt: 10 ** 6, hits: [true, true] })];
  expect(contextDiff(a, b)).toMatchObject({ isSame: true, numCommon: 5, block: null });
  expect(divergence(a, b)).toBeNull();
  expect(ofTwo(a, b, AB)).toBe("The same prompt, settings and seed: the answers are the same 2 tokens.");
  expect(cacheWords(a, b)).toContain("B took 4 tokens (2 blocks) and computed 1.");
});

test("prompts part in a segment and a block, and blocks from there on are misses", () => {
  const a = request({});
  const b = request({ prompt: [1, 2, 3, 9, 5], acceptedAt: 10 ** 6, hits: [true, false] });
  const found = contextDiff(a, b)!;
  expect(found).toMatchObject({ numCommon: 3, block: 1, b: { kind: "user" } });
  expect(partingSentence(found, a, b, AB)).toBe(
    "The first 3 tokens are the same. The prompts (5 and 5 tokens) differ from token 4 on (block 2, tokens 3 to 4), in the new message.",
  );
  expect(cacheWords(a, b)).toBe(
    "A block is a hit only when it and all before it are equal. 1 block could be hits; all from block 2 on are misses. B took 2 tokens (1 block) and computed 3.",
  );
  // The one that came later is told of, whichever side it is on.
  expect(cacheSentence(found, b, a, ["B", "A"])).toContain("B took 2 tokens");
});

test("hits that the other cannot explain, and those that are missing, are said to be so", () => {
  const a = request({});
  const later = { acceptedAt: 10 ** 6 };
  expect(cacheWords(a, request({ prompt: [9, 2, 3, 4, 5], hits: [true, false], ...later }))).toContain(
    "At most 0 blocks of them can come from A; another request left the rest.",
  );
  expect(cacheWords(a, request({ hits: [false, false], ...later }))).toContain("had lost the blocks of A");
  expect(cacheWords(a, request({ hits: [false, false], acceptedAt: 1 }))).toContain("had not yet computed");
  expect(cacheWords(a, request({ hits: null, ...later }))).toContain("does not record");
});

test("answers part where both sides' chances of both choices are told, or are said not to be recorded", () => {
  const [a, b] = [request({}), request({ answer: [10, 12, 7], params: { seed: 2 } })];
  const parting = divergence(a, b)!;
  expect([parting.index, parting.a!.id, parting.b!.id]).toEqual([1, 11, 12]);
  const place = { token: parting.a!.sampled!, view: a };
  expect(chanceOf(place, 11).drawn).toBeCloseTo(0.119, 3);
  // top_k 2 has removed the third candidate, whose chance the model's own distribution still tells.
  expect(chanceOf(place, 12)).toMatchObject({ drawn: 0 });
  expect(chanceOf(place, 12).model).toBeCloseTo(0.087, 3);
  expect(chanceOf(place, 99)).toEqual({ model: null, drawn: null });
  expect(ofTwo(a, b, AB)).toMatch(
    /^The same prompt and settings, another seed: the answers differ from token 2 on, where A wrote “·a” \(11\.9\s%\) and B/,
  );
});

const forkedWith = (...ids: number[]) =>
  ({
    type: "generation.forked",
    at: 2.5,
    from_request_id: "req_a",
    position: ids.length - 1,
    ids,
    pieces: ids.map((_, index) => btoa("ab"[index % 2]!)),
    text: "ab",
  }) as AnyEvent;

test("a fork reads the kept answer too: no more comes from the cache than it read", () => {
  const a = request({ answer: [10, 11, 12, 13] });
  const later = { acceptedAt: 10 ** 6, answer: [7] };
  const b = request({ ...later, before: [forkedWith(10, 11, 9)], hits: [true, true, true] });
  expect(cacheWords(a, b)).toBe(
    "A block is a hit only when it and all before it are equal. 3 blocks could be hits; all from block 4 on are misses. B took 6 tokens (3 blocks) and computed 2.",
  );
  const most = figureRows([a, b]).find(({ label }) => label === "Input")!;
  expect(most.cells.map(({ text }) => text)).toEqual(["5", "8"]);
  expect(partingSentence(contextDiff(a, b)!, a, b, AB)).toBe(
    "Both prompts are the same 5 tokens. B also read 3 tokens of the answer that it continues.",
  );
});

test("what an answer had not yet computed at the look-up could not be found", () => {
  const a = request({ answer: [10, 11, 12, 13] });
  const b = request({ before: [forkedWith(10, 11, 9)], acceptedAt: 98, hits: [true, true] });
  // Two of the four tokens were drawn by then, and the second was not read yet.
  expect(cacheWords(a, b)).toContain("3 blocks could be hits");
  const early = request({ before: [forkedWith(10, 11, 9)], acceptedAt: 97, hits: [true, true] });
  expect(cacheWords(a, early)).toContain("2 blocks could be hits");
});

test("what a fork was given is part of its answer, and no chance is told of it", () => {
  const a = request({ answer: [10, 11] });
  const forked = forkedWith(10, 12);
  const b = request({ answer: [7], before: [forked] });
  expect(divergence(a, b)).toMatchObject({ index: 1, a: { id: 11 }, b: { id: 12, sampled: null } });
  expect(ofTwo(a, b, AB)).toContain("B got “b” from a person");
});

test("an answer that is still being written has not ended where the other goes on", () => {
  const [a, b] = [request({}), request({ answer: [10], end: [] })];
  expect(divergence(a, b, false)).toBeNull();
  expect(divergence(a, b)).toMatchObject({ index: 1, b: null });
  expect(ofTwo(a, b, AB)).toContain("B is still running");
});

test("the sentence names what differs most", () => {
  const a = request({});
  expect(ofTwo(a, request({ params: { temperature: 0, top_k: 5, seed: 2 } }), AB)).toBe(
    "The same prompt, temperature 0.5 in A and 0 (greedy) in B (top-k too): the answers are the same 2 tokens.",
  );
  expect(ofTwo(a, request({ answer: [10] }), AB)).toContain(
    "the same for 1 token, where B ends and A continues to 2",
  );
  expect(ofTwo(a, request({ answer: [], end: [failed("generation", "worker_lost")] }), AB)).toBe(
    "B has no whole answer (failed: worker lost), A has one.",
  );
  expect(mainDifference([a, request({}), request({ answer: [10, 12] })])).toBe(
    "3 requests, 2 different answers (A, B are the same): all begin with the same token.",
  );
});

test("figures stand beside the first, and what nobody recorded is not zero", () => {
  const rows = figureRows([
    request({}),
    request({ params: { temperature: 0 }, answer: [], hits: null, end: [failed("generation", "no_worker")] }),
  ]);
  const row = (label: string) => rows.find((each) => each.label === label)!;
  expect(row("Temperature")).toMatchObject({
    differs: true,
    cells: [{ text: "0.5" }, { text: "0 (greedy)" }],
  });
  expect(row("Top-k").differs).toBe(false);
  expect(row("First text").cells[1]!.text).toBe("not recorded");
  expect(row("Output").cells).toMatchObject([
    { text: "2", ratio: null },
    { text: "not recorded", ratio: null },
  ]);
  expect(row("Ended by").cells.map(({ text }) => text)).toEqual(["end of turn", "failed: no worker"]);
});

test("a ratio is short, and never nothing", () => {
  fc.assert(
    fc.property(fc.double({ min: 1e-4, max: 1e4, noNaN: true }), (ratio) => {
      expect(ratioText(ratio)).toMatch(/^(=|×\d+(\.\d+)?|<\u00a0×0\.01)$/);
      expect(Number(ratioText(ratio).replace(/\D/g, "") || 1)).toBeGreaterThan(0);
    }),
  );
  expect([1, 1.8, 0.25, 42].map(ratioText)).toEqual(["=", "×1.8", "×0.25", "×42"]);
});

test("whatever two prompts are, the block named holds their first difference", () => {
  const ids = fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 3, maxLength: 12 });
  fc.assert(
    fc.property(ids, ids, (left, right) => {
      const [a, b] = [request({ prompt: left }), request({ prompt: right })];
      const { block, numCommon, isSame } = contextDiff(a, b)!;
      expect(isSame).toBe(left.join() === right.join());
      if (isSame) expect(block).toBeNull();
      else {
        expect(left.slice(0, block! * 2)).toEqual(right.slice(0, block! * 2));
        expect(left.slice(block! * 2, block! * 2 + 2)).not.toEqual(right.slice(block! * 2, block! * 2 + 2));
        expect(Math.floor(numCommon / 2)).toBe(block);
      }
      expect(cacheWords(a, b).length).toBeGreaterThan(20);
    }),
  );
});

test("what a person took to choose tokens is in no first token and no first text", () => {
  const [plain, stepped] = [
    [ACCEPTED, token(0, 70_000), { ...RELEASED, at: 90_000 }],
    [ACCEPTED, ...chosen(0, 50_000, 39_020_000), { ...RELEASED, at: 39_090_000 }],
  ].map((events) => foldAll(events as AnyEvent[])) as [TraceView, TraceView];
  const cells = (label: string) =>
    figureRows([plain, stepped])
      .find((row) => row.label === label)!
      .cells.map(({ text }) => text);
  expect(cells("First token")).toEqual(["70.0\u00a0ms", "50.0\u00a0ms"]);
  expect(cells("First text")).toEqual(["90.0\u00a0ms", "70.0\u00a0ms"]);
});

/** The same request of another model. */
function by(view: TraceView, model: string, version: string): TraceView {
  return {
    ...view,
    accepted: { ...view.accepted!, model },
    prompt: { ...view.prompt!, version },
  };
}

test("two models with one tokenizer are named, and their tokens compared by id", () => {
  const [a, b] = [by(request({}), "small", "v"), by(request({}), "big", "v")];
  expect(ofTwo(a, b, AB)).toBe(
    "Model small in A and big in B; the same prompt, settings and seed: the answers are the same 2 tokens.",
  );
  expect(contextDiff(a, b)!.isSame).toBe(true);
});

test("two models share no cache", () => {
  const [a, b] = [request({ hits: [] }), by(request({ acceptedAt: 5, hits: [false] }), "big", "v")];
  expect(cacheSentence(contextDiff(a, b)!, a, b, AB)).toContain("of different models, which share no cache");
});

test("two users share no cache; a key is known to be no other user", () => {
  const checked = (principal: string) => ({
    type: "gateway.checked",
    at: 0,
    principal,
    limits: [],
    duration_us: 1,
  });
  const asked = (principal: string, more: Told = {}) =>
    request({ ...more, before: [checked(principal)] as AnyEvent[] });
  const words = (one: string, other: string) =>
    cacheWords(asked(one), asked(other, { acceptedAt: 10 ** 6, hits: [true, true] }));
  expect(words("user:1", "user:2")).toContain("of different users, who share no cache");
  for (const other of ["user:1", "key:sg-abcdefgh"])
    expect(words("user:1", other)).toBe(
      cacheWords(request({}), request({ acceptedAt: 10 ** 6, hits: [true, true] })),
    );
});

test("tokens of different tokenizers are compared by their bytes", () => {
  const [a, other] = [request({ answer: [10, 11] }), request({ answer: [70, 71] })];
  const b = by(other, "big", "w");
  const pieces = (view: TraceView) => view.tokens.map(({ piece }) => piece);
  expect(pieces(a)).toEqual(pieces(b));
  expect(divergence(a, b)).toBeNull();
  expect(divergence(a, other)?.index).toBe(0);
  const changed = b.tokens.map((token, index) => (index === 1 ? { ...token, piece: btoa(" odd") } : token));
  expect(divergence(a, { ...b, tokens: changed })?.index).toBe(1);
  const longer = { ...b, prompt: { ...b.prompt!, pieces: b.prompt!.pieces.map(() => btoa("other")) } };
  expect(ofTwo(a, longer, AB)).toContain("the prompts are of different tokenizers");
});
