import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { AnyEvent, SamplingParams, TokenSampled } from "../../protocol/events";
import { foldAll, logSumExp, PARAMS, processor, token } from "../fixtures";
import type { TraceView } from "../view";
import { dryPenalties } from "./dry";
import { course, piecesOf, redraw, spread, type Settings } from "./whatif";

const LOGS = new URL("../../../../tests/golden/logs/", `file://${import.meta.dirname}/`).pathname;

function golden(name: string): TraceView {
  const { frames } = JSON.parse(readFileSync(`${LOGS}${name}.json`, "utf8")) as {
    frames: { events: AnyEvent[] }[];
  };
  return foldAll(frames.flatMap(({ events }) => events));
}

describe.each(["finished", "lost", "stopped"])("the log %s", (name) => {
  const { tokens, accepted, prompt } = golden(name);
  const params = accepted!.params;

  it("draws with the request's own settings what was drawn", () => {
    const ids = tokens.map(({ id }) => id);
    const again = tokens.map((each, index) => redraw(each, params, params, prompt!.ids, ids.slice(0, index)));
    expect(again.map((outcome) => outcome.kind === "drawn" && outcome.id)).toEqual(ids);
    expect(course(tokens, params, params, prompt!.ids)).toEqual({ numSame: tokens.length, next: null });
  });

  it("takes the first candidate where it is greedy", () => {
    for (const each of tokens)
      expect(redraw(each, params, { ...params, temperature: 0 }, [], [])).toMatchObject({
        id: each.candidate_ids[0],
      });
  });

  it("never contradicts the draw at the temperature of 1, where all the mass is known", () => {
    const wanted = { ...params, temperature: 1, top_p: 1 };
    for (const each of tokens) {
      const outcome = redraw(each, params, wanted, [], []);
      const first = each.candidate_logits.map((logit) => Math.exp(logit - each.log_normalizer!));
      let sum = 0;
      const index = first.findIndex((share) => (sum += share) > each.u!);
      if (outcome.kind === "drawn") expect(outcome.id).toBe(each.candidate_ids[index]);
      else expect(index < 0 || Math.abs(sum - each.u!) < 1e-3 || index >= 20).toBe(true);
    }
  });
});

it("says of a server that reports no draw that it cannot be told", () => {
  const { tokens, accepted } = golden("remote");
  const { next, numSame } = course(tokens, accepted!.params, accepted!.params, []);
  expect(numSame).toBe(0);
  expect(next).toMatchObject({ kind: "unknown" });
});

/** Deterministic numbers in [0, 1). */
function random(seed: number): () => number {
  return () => ((seed = (seed * 48271) % 2147483647) - 1) / 2147483646;
}

const SIZE = 400;

/** All logits at once, without ranges, as inference/sampling/ does. */
function reference(logits: number[], ids: number[], wanted: Settings, output: number[], u: number): number {
  const kept = distribution(logits, ids, wanted, output);
  let sum = 0;
  return (kept.find(({ share }) => (sum += share) > u) ?? kept.at(-1)!).id;
}

function distribution(logits: number[], ids: number[], wanted: Settings, output: number[]) {
  const changed = ids.map((id, index) => {
    const times = output.filter((each) => each === id).length;
    let logit = logits[index]!;
    if (times) logit = logit > 0 ? logit / wanted.repetition_penalty : logit * wanted.repetition_penalty;
    return { id, logit: logit - wanted.frequency_penalty * times - (times ? wanted.presence_penalty : 0) };
  });
  let kept = changed.sort((a, b) => b.logit - a.logit);
  const weight = ({ logit }: { logit: number }) => Math.exp((logit - changed[0]!.logit) / wanted.temperature);
  const mass = () => kept.reduce((sum, each) => sum + weight(each), 0);
  if (wanted.top_k > 0) kept = kept.slice(0, wanted.top_k);
  const [target, all] = [wanted.top_p * mass(), kept];
  let sum = 0;
  if (wanted.top_p < 1) kept = all.slice(0, all.findIndex((each) => (sum += weight(each)) >= target) + 1);
  kept = kept.filter((each) => weight(each) >= wanted.min_p);
  const total = mass();
  return kept.map((each) => ({ id: each.id, share: weight(each) / total }));
}

function recorded(logits: number[], ids: number[], temperature: number, u: number): TokenSampled {
  const scaled = logSumExp(logits.map((logit) => logit / temperature));
  return {
    ...token(0, 1),
    u,
    log_normalizer: logSumExp(logits),
    candidate_ids: ids.slice(0, 20),
    candidate_logits: logits.slice(0, 20).map((logit) => Math.round(logit * 1e4) / 1e4),
    candidate_pieces: [],
    processors: temperature === 1 ? [] : [processor("temperature", SIZE, 1, scaled)],
  };
}

it("is right whenever it gives an answer, and gives one mostly, under 4,000 settings", () => {
  const next = random(7);
  const pick = <Value>(...values: Value[]) => values[Math.floor(next() * values.length)]!;
  let numDrawn = 0;
  for (let round = 0; round < 4000; round++) {
    const spread = pick(1, 3, 8);
    const logits = Array.from({ length: SIZE }, () => 4 + spread * Math.log(next() + 1e-9)).sort(
      (a, b) => b - a,
    );
    const ids = logits.map((_, index) => index * 7);
    const own: SamplingParams = { ...PARAMS, top_k: 0, temperature: pick(0.2, 0.7, 1, 1.5) };
    const wanted: Settings = {
      temperature: pick(own.temperature, 0.1, 0.5, 1, 1.3, 2),
      top_k: pick(0, 0, 1, 5, 20, 50, 1000),
      top_p: pick(1, 0.95, 0.9, 0.5),
      min_p: pick(0, 0, 0.05, 0.2),
      repetition_penalty: pick(1, 1, 1.3),
      frequency_penalty: pick(0, 0, 0.5),
      presence_penalty: pick(0, 0, 1),
    };
    const output = [ids[0]!, ids[3]!, ids[3]!, ids[300]!];
    const sampled = recorded(logits, ids, own.temperature, next());
    const outcome = redraw(sampled, own, wanted, [], output);
    if (outcome.kind === "unknown") continue;
    numDrawn++;
    expect(outcome.id, JSON.stringify({ own: own.temperature, wanted, spread })).toBe(
      reference(logits, ids, wanted, output, sampled.u!),
    );
  }
  expect(numDrawn).toBeGreaterThan(1200);
});

it("gives every candidate a range that holds its chance, and tells what is cut", () => {
  const next = random(11);
  const pick = <Value>(...values: Value[]) => values[Math.floor(next() * values.length)]!;
  let numKnown = 0;
  for (let round = 0; round < 500; round++) {
    const logits = Array.from({ length: SIZE }, () => 4 + 3 * Math.log(next() + 1e-9)).sort((a, b) => b - a);
    const ids = logits.map((_, index) => index);
    const own: SamplingParams = { ...PARAMS, top_k: 0, temperature: pick(0.2, 0.7, 1) };
    const wanted: Settings = {
      ...own,
      temperature: pick(0.3, 0.7, 1, 1.5),
      top_k: pick(0, 1, 5, 50),
      top_p: pick(1, 0.9, 0.5),
      min_p: pick(0, 0.05),
      presence_penalty: pick(0, 0, 1.5),
    };
    const output = [ids[0]!, ids[3]!, ids[300]!];
    const found = spread(recorded(logits, ids, own.temperature, 0.5), own, wanted, [], output)!;
    const truth = new Map(distribution(logits, ids, wanted, output).map(({ id, share }) => [id, share]));
    const ROUNDING = 2e-3;
    for (const { id, low, high, isCut } of found.chances) {
      const share = truth.get(id) ?? 0;
      expect(share).toBeGreaterThanOrEqual(low - ROUNDING);
      expect(share).toBeLessThanOrEqual(high + ROUNDING);
      if (isCut !== null) expect(truth.has(id)).toBe(!isCut);
      if (high - low < 0.01) numKnown++;
    }
    const rest = [...truth].reduce((sum, [id, share]) => sum + (id >= 20 ? share : 0), 0);
    expect(rest).toBeLessThanOrEqual(found.others.high + ROUNDING);
  }
  expect(numKnown).toBeGreaterThan(5000);
});

/** As the engine records it: DRY changes the logits, and the candidates stand in the order after it. */
function recordedWithDry(logits: number[], ids: number[], own: SamplingParams, output: number[], u: number) {
  const hits = dryPenalties(own, output, pieceOf)!;
  const all = ids.map((id, index) => {
    const times = output.filter((each) => each === id).length;
    const penalised = logits[index]! - own.frequency_penalty * times;
    return { id, raw: logits[index]!, penalised, after: penalised - (hits.get(id) ?? 0) };
  });
  all.sort((a, b) => b.after - a.after);
  const rounded = (values: number[]) => values.slice(0, 20).map((value) => Math.round(value * 1e4) / 1e4);
  const after = all.map((each) => each.after);
  const before = all.map((each) => each.penalised);
  const penalties = processor("penalties", SIZE, 1, logSumExp(before), { logits: rounded(before) });
  const dry = processor("dry", SIZE, 1, logSumExp(after), { logits: rounded(after) });
  const scaled = logSumExp(after.map((logit) => logit / own.temperature));
  return {
    ...token(0, 1),
    u,
    log_normalizer: logSumExp(logits),
    candidate_ids: all.slice(0, 20).map(({ id }) => id),
    candidate_logits: rounded(all.map(({ raw }) => raw)),
    candidate_pieces: [],
    processors: [
      ...(own.frequency_penalty ? [penalties] : []),
      dry,
      ...(own.temperature === 1 ? [] : [processor("temperature", SIZE, 1, scaled)]),
    ],
  } as TokenSampled;
}

const pieceOf = () => btoa("a");

it("is right with DRY taken away, put in or made another, and tells mostly", () => {
  const next = random(5);
  const pick = <Value>(...values: Value[]) => values[Math.floor(next() * values.length)]!;
  let numDrawn = 0;
  for (let round = 0; round < 1500; round++) {
    const logits = Array.from({ length: SIZE }, (_, index) => 5 - 0.6 * index - next()).sort((a, b) => b - a);
    const ids = logits.map((_, index) => index);
    const frequency_penalty = pick(0, 0.4);
    const dry_multiplier = pick(0, 0.8, 2);
    const own = { ...PARAMS, top_k: 0, temperature: pick(0.3, 1), frequency_penalty, dry_multiplier };
    const wanted: Settings = {
      ...own,
      temperature: pick(own.temperature, 0.2, 0.6),
      dry_multiplier: pick(0, 0.8, 2),
      frequency_penalty: frequency_penalty || pick(0, 0.5),
      min_p: pick(0, 0.1),
    };
    const few = Array.from({ length: 16 }, () => pick(0, 1, 2, 3));
    const sampled = recordedWithDry(logits, ids, own, few, next());
    const outcome = redraw(sampled, own, wanted, [], few, pieceOf);
    if (outcome.kind === "unknown") continue;
    numDrawn++;
    const hits = dryPenalties({ ...own, ...wanted }, few, pieceOf)!;
    const penalised = logits.map((logit, index) => logit - (hits.get(index) ?? 0));
    expect(outcome.id).toBe(reference(penalised, ids, wanted, few, sampled.u!));
  }
  expect(numDrawn).toBeGreaterThan(700);
});

it("tells of a DRY that is put in only where the answer's bytes are known", () => {
  const tokens = [0, 1, 2].map((position) => ({ ...token(position, position), u: 0.3 }));
  const wanted = { ...PARAMS, dry_multiplier: 1 };
  expect(redraw(tokens[2]!, PARAMS, wanted, [], [10, 10])).toMatchObject({
    reason: expect.stringContaining("DRY breakers") as string,
  });
  expect(redraw(tokens[2]!, PARAMS, wanted, [], [10, 10], piecesOf(tokens)).kind).toBe("drawn");
  expect(course(tokens, PARAMS, { ...wanted, dry_allowed_length: 1, dry_multiplier: 9 }, [])).toMatchObject({
    numSame: 2,
    next: { kind: "drawn", id: 11 },
  });
});

it("says that the draw may lie beyond the recorded candidates, and does not guess", () => {
  const logits = Array.from({ length: SIZE }, () => 1);
  const ids = logits.map((_, index) => index);
  const flat = recorded(logits, ids, 1, 0.9);
  const off = { ...PARAMS, temperature: 1, top_k: 0 };
  expect(redraw(flat, off, off, [], [])).toMatchObject({
    reason: expect.stringContaining("beyond the 20") as string,
  });
  expect(redraw(flat, off, { ...off, top_k: 2 }, [], [])).toMatchObject({ id: 1 });
});

it("does not tell what rising penalties, typical-p or the request's own penalties hide", () => {
  const one = token(0, 1);
  const reason = (own: Partial<SamplingParams>, wanted: Partial<Settings>, processors = one.processors) =>
    redraw({ ...one, processors }, { ...PARAMS, ...own }, { ...PARAMS, ...own, ...wanted }, [], []);
  expect(reason({ typical_p: 0.9 }, {}).kind).toBe("unknown");
  expect(reason({}, { presence_penalty: -1 }).kind).toBe("unknown");
  const penalty = processor("penalties", 4, 1, logSumExp([2, 1, 0, -1]), { logits: [2, 1, 0] });
  expect(reason({ presence_penalty: 1 }, { presence_penalty: 0.5 }, [penalty]).kind).toBe("unknown");
});

it("stops at the first token that would have been another", () => {
  const tokens = [0, 1, 2].map((position) => ({
    ...token(position, position),
    u: position === 1 ? 0.99 : 0.3,
  }));
  const wanted = { ...PARAMS, top_k: 1 };
  tokens[1]!.id = 11;
  expect(course(tokens, PARAMS, wanted, [])).toMatchObject({ numSame: 1, next: { kind: "drawn", id: 10 } });
});

it("goes on from the tokens that a fork kept", () => {
  const first = { ...token(2, 1), position: 2 };
  expect(course([first], PARAMS, PARAMS, [], [5, 6])).toEqual({ numSame: 1, next: null });
  expect(course([first], PARAMS, PARAMS, [])).toMatchObject({ numSame: 0, next: { kind: "unknown" } });
});
