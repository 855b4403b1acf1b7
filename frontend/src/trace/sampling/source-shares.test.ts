import fc from "fast-check";
import { expect, it } from "vitest";
import type { AnyEvent, ProbeSummed } from "../../protocol/events";
import type { TaintSource } from "../context/taint";
import { foldAll, token } from "../fixtures";
import { answerTokens, callTokens, lastPass, SourceShares } from "./source-shares";

function summed(first: number, starts: number[], rows: number[][]): ProbeSummed {
  const bytes = new DataView(new ArrayBuffer(4 * rows.length * starts.length));
  rows.flat().forEach((value, index) => bytes.setFloat32(4 * index, value, true));
  const shares = btoa(String.fromCharCode(...new Uint8Array(bytes.buffer)));
  return { first, position: first + rows.length - 1, starts, shares } as ProbeSummed;
}

const source = (number: number, start: number, end: number): TaintSource => ({
  number,
  kind: "attachment",
  start,
  end,
  label: "document",
});

it("gives each range to its source, the first token and all else apart", () => {
  const event = summed(9, [0, 1, 3, 5, 10], [[0.5, 0.125, 0.0625, 0.25, 0.0625]]);
  const shares = new SourceShares(event, [source(1, 0, 3), source(2, 5, 10)]);
  expect(shares.of(10)).toEqual({ firstToken: 0.5, sources: [0.125, 0.25], rest: 0.125 });
  expect(shares.of(9)).toBeNull();
  expect(shares.of(11)).toBeNull();
  expect(shares.mean([10, null])).toBeNull();
  expect(shares.mean([])).toBeNull();
});

const weights = fc.array(fc.double({ min: 0.001, max: 1, noNaN: true }), { minLength: 6, maxLength: 6 });

it("has shares that sum to one, of each token and in the mean", () => {
  fc.assert(
    fc.property(
      fc.array(weights, { minLength: 1, maxLength: 8 }),
      fc.subarray([0, 1, 2, 3, 4]),
      (rows, tainted) => {
        const normed = rows.map((row) => row.map((each) => each / row.reduce((sum, one) => sum + one, 0)));
        const starts = [0, 1, 4, 7, 9, 12];
        const sources = tainted.map((at, index) => source(index + 1, starts[at]!, starts[at + 1]!));
        const shares = new SourceShares(summed(11, starts, normed), sources);
        const indices = rows.map((_, row) => 12 + row);
        for (const each of [...indices.map((index) => shares.of(index)), shares.mean(indices)])
          expect(each!.sources.reduce((sum, one) => sum + one, each!.firstToken + each!.rest)).toBeCloseTo(
            1,
            5,
          );
      },
    ),
  );
});

const ARGUMENTS = '{"x": "é"}';
const PIECES = ["Hm ", "<tool_call>", '{"name": "', 'f", "arg', `uments": ${ARGUMENTS}`, "}", "</tool_call>"];
const binary = (text: string) =>
  btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(""));

function prompt(generation: number, ids: number[]): AnyEvent {
  const pieces = ids.map(() => btoa("a"));
  return { type: "prompt.tokenized", generation, at: 1, ids, pieces, special: [] } as unknown as AnyEvent;
}

function rounds(idOfFirst: number): AnyEvent[] {
  const call = PIECES.map((piece, at) => ({ ...token(at, 2), id: 20 + at, piece: binary(piece) }));
  const ids = [1, 2, idOfFirst, ...call.slice(1).map(({ id }) => id), 3, 4];
  const called = { type: "tool.called", generation: 0, at: 3, call_id: "call_0_0", name: "f" };
  return [
    prompt(0, [1, 2]),
    ...call,
    { ...called, arguments: ARGUMENTS } as unknown as AnyEvent,
    prompt(1, ids),
    { ...token(0, 4), generation: 1 } as AnyEvent,
    { ...token(1, 5), generation: 1 } as AnyEvent,
  ];
}

it("finds the tokens of a call, and their places in the prompt of the round after it", () => {
  const view = foldAll(rounds(20));
  const [call, ...others] = callTokens(view);
  expect(others).toEqual([]);
  expect(call!.name).toBe("f");
  expect(call!.tokens.map(({ index }) => index)).toEqual([5, 6]);
  expect(answerTokens(view).map(({ index }) => index)).toEqual([2, 3, 4, 5, 6, 7, 8, 11, 12]);
  expect(lastPass(view)).toBe(11);
});

it("does not know the place of a token that the last prompt lacks, nor of a call that was rewritten", () => {
  const events = rounds(99).map((event) =>
    event.type === "tool.called" ? { ...event, arguments: "{}" } : event,
  );
  const view = foldAll(events);
  expect(answerTokens(view)[0]!.index).toBeNull();
  expect(callTokens(view)[0]!.tokens).toEqual([]);
  expect(lastPass(foldAll([prompt(0, [1, 2])]))).toBeNull();
});
