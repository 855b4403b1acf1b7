/**
 * token.sampled events from a saved trace's columns; webapp/traces/file/columns.py describes the form. Candidates and
 * processors become objects when a reader selects a token: in a long answer few ever are.
 */
import type { ProcessorEffect, TokenSampled } from "../../protocol/events";
import { orNull, starts, unpack, type Numbers } from "./numbers";

type PackedProcessor = [
  name: string,
  numCandidates: Numbers,
  mass: Numbers,
  logNormalizer: Numbers,
  first: Numbers,
  numLogits: Numbers,
  logits: Numbers,
  numMasked: Numbers,
  masked: Numbers,
];

export interface TokenColumns {
  num_tokens: number;
  fields: Record<string, Numbers>;
  num_candidates: Numbers;
  candidates: Numbers;
  candidate_logits: Numbers;
  ids: Numbers;
  num_ids: number;
  num_repeated: number;
  num_bytes: Numbers;
  pieces: Uint8Array;
  chains: PackedProcessor[][];
  chain: Numbers;
  later: Uint8Array;
}

/** The candidates of all tokens, one after the other. */
interface Candidates {
  starts: Uint32Array;
  ids: Float64Array;
  logits: Float64Array;
}

/** Processors by the place of the token among those of its chain. */
type ProcessorAt = (place: number) => ProcessorEffect;

export function tokensOf(columns: TokenColumns): TokenSampled[] {
  const field = (name: string, base?: ArrayLike<number>) =>
    unpack(columns.fields[name]!, columns.num_tokens, base);
  const pieces = piecesById(columns);
  const candidates = candidatesOf(columns);
  const [id, logNormalizer] = [field("id"), field("log_normalizer")];
  const processorsAt = processorsOf(columns, candidates, logNormalizer);
  const [at, position, isSpecial, isShown] = [
    field("at"),
    field("position"),
    field("is_special"),
    field("is_shown"),
  ];
  const logprob = field("logprob", expectedLogprobs(id, candidates, logNormalizer));
  const [rank, entropy, u, low, high] = [
    field("rank"),
    field("entropy"),
    field("u"),
    field("low"),
    field("high"),
  ];
  const [stepUs, batchSize] = [field("step_us"), field("batch_size")];

  function token(index: number): TokenSampled {
    const [start, end] = [candidates.starts[index], candidates.starts[index + 1]];
    let ids: number[] | undefined;
    let logits: number[] | undefined;
    let listed: string[] | undefined;
    let processors: ProcessorEffect[] | null | undefined;
    return {
      type: "token.sampled",
      at: at[index]!,
      generation: 0,
      position: position[index]!,
      id: id[index]!,
      piece: pieces.get(id[index]!)!,
      is_special: isSpecial[index] === 1,
      is_shown: isShown[index] === 1,
      logprob: orNull(logprob[index]!),
      rank: orNull(rank[index]!),
      entropy: orNull(entropy[index]!),
      u: orNull(u[index]!),
      low: orNull(low[index]!),
      high: orNull(high[index]!),
      log_normalizer: orNull(logNormalizer[index]!),
      get candidate_ids() {
        return (ids ??= Array.from(candidates.ids.subarray(start, end)));
      },
      get candidate_logits() {
        return (logits ??= Array.from(candidates.logits.subarray(start, end)));
      },
      get candidate_pieces() {
        return (listed ??= this.candidate_ids.map((each) => pieces.get(each)!));
      },
      get processors() {
        return processors === undefined ? (processors = processorsAt(index)) : processors;
      },
      step_us: orNull(stepUs[index]!),
      batch_size: orNull(batchSize[index]!),
      chosen_by: "draw",
      is_withheld: false,
    };
  }

  const tokens = Array.from({ length: columns.num_tokens }, (_, index) => token(index));
  const later = JSON.parse(new TextDecoder().decode(columns.later)) as [number, object][];
  for (const [index, values] of later) Object.assign(tokens[index]!, values);
  return tokens;
}

/** Each id's bytes in base64, as the wire has them. */
function piecesById(columns: TokenColumns): Map<number, string> {
  const ids = unpack(columns.ids, columns.num_ids);
  const ends = starts(unpack(columns.num_bytes, columns.num_ids));
  const found = new Map<number, string>();
  ids.forEach((id, index) => {
    const bytes = columns.pieces.subarray(ends[index], ends[index + 1]);
    found.set(id, btoa(String.fromCharCode(...bytes)));
  });
  return found;
}

function candidatesOf(columns: TokenColumns): Candidates {
  const counts = starts(unpack(columns.num_candidates, columns.num_tokens));
  const num = counts.at(-1)!;
  const known = unpack(columns.ids, columns.num_ids);
  let next = columns.num_repeated;
  const ids = unpack(columns.candidates, num).map((place) => known[place ? place - 1 : next++]!);
  return { starts: counts, ids, logits: unpack(columns.candidate_logits, num) };
}

/** The log-probability but for rounding; 0 where the chosen token is not among the candidates. */
function expectedLogprobs(
  chosen: Float64Array,
  { starts, ids, logits }: Candidates,
  logNormalizer: Float64Array,
): Float64Array {
  return chosen.map((id, index) => {
    const place = ids.subarray(starts[index], starts[index + 1]).indexOf(id);
    return place < 0 ? 0 : logits[starts[index]! + place]! - (logNormalizer[index]! || 0);
  });
}

/** The processors of the token at an index; null where they are not reported. */
function processorsOf(
  columns: TokenColumns,
  candidates: Candidates,
  logNormalizer: Float64Array,
): (index: number) => ProcessorEffect[] | null {
  const chain = unpack(columns.chain, columns.num_tokens);
  const places = new Uint32Array(columns.num_tokens);
  const membersOf: number[][] = columns.chains.map(() => []);
  chain.forEach((number, index) => {
    if (!Number.isNaN(number)) places[index] = membersOf[number]!.push(index) - 1;
  });
  const chains = columns.chains.map((packed, number) => {
    const members = membersOf[number]!;
    let before: ArrayLike<number> = members.map((index) => logNormalizer[index]!);
    return packed.map((processor): ProcessorAt => {
      const normalizers = unpack(processor[3], members.length, before);
      before = normalizers;
      return processorOf(processor, normalizers, members, candidates);
    });
  });
  return (index) =>
    Number.isNaN(chain[index]!) ? null : chains[chain[index]!]!.map((processor) => processor(places[index]!));
}

/** members: the indices of the tokens that have this processor. */
function processorOf(
  packed: PackedProcessor,
  normalizers: Float64Array,
  members: number[],
  candidates: Candidates,
): ProcessorAt {
  const num = members.length;
  const [name, numCandidates, mass, , first, numLogits, logits, numMasked, masked] = packed;
  const [lefts, masses, firsts] = [unpack(numCandidates, num), unpack(mass, num), unpack(first, num)];
  const sizes = unpack(numLogits, num);
  const logitStarts = starts(sizes);
  const raw = members.flatMap((index, place) => {
    const start = candidates.starts[index]!;
    return Array.from(candidates.logits.subarray(start, start + (sizes[place]! || 0)));
  });
  const values = unpack(logits, logitStarts.at(-1)!, raw);
  const maskStarts = starts(unpack(numMasked, num));
  const masks = unpack(masked, maskStarts.at(-1)!);
  return (place) => ({
    name: name as ProcessorEffect["name"],
    num_candidates: lefts[place]!,
    mass: masses[place]!,
    log_normalizer: normalizers[place]!,
    logits: Number.isNaN(sizes[place]!)
      ? null
      : Array.from(values.subarray(logitStarts[place], logitStarts[place + 1])),
    first: firsts[place]!,
    masked: Array.from(masks.subarray(maskStarts[place], maskStarts[place + 1])),
  });
}
