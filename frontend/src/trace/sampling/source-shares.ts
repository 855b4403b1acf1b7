/** Attention of the answer's tokens by source, read from its probe. A share tells no cause. */
import type { ProbeSummed, TokenSampled } from "../../protocol/events";
import { decodeBase64 } from "../bytes";
import type { TaintSource } from "../context/taint";
import { atLastGeneration, eachGeneration, madeCalls, numRead, type TraceView } from "../view";

/** Parts of the attention, which sum to 1. */
export interface Shares {
  /** On the context's first token, which gets the attention that a head has no use for. */
  firstToken: number;
  /** On each source, in their order. */
  sources: number[];
  /** On all other tokens: the rest of the prompt, and the answer before the token. */
  rest: number;
}

export class SourceShares {
  private readonly values: Float32Array;
  /** Of each range after the first: its source's index; -1: it has none. */
  private readonly owners: number[];

  constructor(
    private readonly event: ProbeSummed,
    private readonly sources: TaintSource[],
  ) {
    this.values = floats(event.shares);
    this.owners = ownersOf(event.starts, sources);
  }

  /** Of the pass that chose the token at this index of prompt and answer together; null: not measured. */
  of(index: number): Shares | null {
    const row = index - 1 - this.event.first;
    if (row < 0 || index - 1 > this.event.position) return null;
    const shares: Shares = { firstToken: 0, sources: this.sources.map(() => 0), rest: 0 };
    this.owners.forEach((owner, range) => {
      const value = this.values[row * this.owners.length + range]!;
      if (range === 0) shares.firstToken += value;
      else if (owner < 0) shares.rest += value;
      else shares.sources[owner]! += value;
    });
    return shares;
  }

  /** The mean over these tokens; null: one of them is not measured, or there is none. */
  mean(indices: (number | null)[]): Shares | null {
    const all = indices.map((index) => (index === null ? null : this.of(index)));
    if (!all.length || !all.every((each) => each !== null)) return null;
    const mean = (valueOf: (shares: Shares) => number) =>
      all.reduce((sum, shares) => sum + valueOf(shares), 0) / all.length;
    return {
      firstToken: mean(({ firstToken }) => firstToken),
      sources: this.sources.map((_, source) => mean(({ sources }) => sources[source]!)),
      rest: mean(({ rest }) => rest),
    };
  }
}

function floats(text: string): Float32Array {
  const bytes = new DataView(decodeBase64(text).buffer);
  return Float32Array.from({ length: bytes.byteLength / 4 }, (_, index) => bytes.getFloat32(index * 4, true));
}

function ownersOf(starts: number[], sources: TaintSource[]): number[] {
  let next = 0;
  return starts.map((start) => {
    while (next < sources.length && sources[next]!.end <= start) next += 1;
    return next < sources.length && sources[next]!.start <= start ? next : -1;
  });
}

export interface AnswerToken {
  token: TokenSampled;
  generation: number;
  /** Its index in the last generation's prompt and answer together; null: that one has another token there. */
  index: number | null;
}

/** All sampled tokens. The prompt after a call begins with the prompt and the answer before it, token by token. */
export function answerTokens(view: TraceView): AnswerToken[] {
  const last = atLastGeneration(view);
  const prompt = last.prompt?.ids ?? [];
  return eachGeneration(view).flatMap((own) =>
    own.tokens.map((token) => {
      const index = (own.prompt?.ids.length ?? 0) + token.position;
      const isThere = own.generationNumber === last.generationNumber || prompt[index] === token.id;
      return { token, generation: own.generationNumber, index: isThere ? index : null };
    }),
  );
}

/** The index of the last pass that chose a token; null: nothing was chosen. */
export function lastPass(view: TraceView): number | null {
  const last = atLastGeneration(view);
  if (!answerTokens(view).some(({ index }) => index !== null)) return null;
  return numRead(last) + last.tokens.length - 2;
}

export interface CallTokens {
  callId: string;
  name: string;
  /** Those of its name and arguments; empty: its text is not found among the tokens. */
  tokens: AnswerToken[];
}

/** The tokens of each call of a tool, as the model wrote it. */
export function callTokens(view: TraceView): CallTokens[] {
  const all = answerTokens(view);
  return view.generations.flatMap((generation) => {
    const own = all.filter((each) => each.generation === generation.generationNumber);
    const calls = madeCalls({ ...view, generations: [generation] });
    return calls.length ? located(own, calls) : [];
  });
}

function located(own: AnswerToken[], calls: ReturnType<typeof madeCalls>): CallTokens[] {
  const pieces = own.map(({ token }) => atob(token.piece));
  const text = pieces.join("");
  let at = 0;
  return calls.map(({ call_id: callId, name, arguments: given }) => {
    const start = text.indexOf(binary(`${name}", "arguments": ${given}`), at);
    if (start < 0) return { callId, name, tokens: [] };
    at = start + binary(`${name}", "arguments": ${given}`).length;
    return { callId, name, tokens: within(own, pieces, start, at) };
  });
}

/** The tokens that have bytes from start to end - 1. */
function within(own: AnswerToken[], pieces: string[], start: number, end: number): AnswerToken[] {
  let to = 0;
  return own.filter((_, index) => {
    const from = to;
    to += pieces[index]!.length;
    return from < end && to > start;
  });
}

/** A character for each byte, as `atob` gives. */
function binary(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("");
}
