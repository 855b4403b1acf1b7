/** The engine's steps that computed a request, and the other sequences in the batch of each. */
import type { BatchComposed, PrefillAdvanced, TokenSampled } from "../../protocol/events";
import type { TraceView } from "../view";

export interface EngineStep {
  kind: "prefill" | "decode";
  /** Its end, µs since acceptance. */
  at: number;
  /** µs; null: not reported. */
  us: number | null;
  /** This request's tokens in it: a chunk of the prompt, or the newest token and the guesses after it. */
  numOwn: number;
  /** Tokens that it gave. */
  numGiven: number;
  /** Sequences in it, this one included; null: not reported. */
  numSequences: number | null;
  /** The other sequences in its batch; null: not recorded. */
  batch: BatchComposed | null;
}

/** In the order of time. */
export function stepsOf(view: TraceView): EngineStep[] {
  const steps = [...view.prefill.map(chunkStep), ...decodeSteps(view)].sort((a, b) => a.at - b.at);
  let next = 0;
  let batch: BatchComposed | null = null;
  for (const step of steps) {
    while (next < view.batches.length && view.batches[next]!.at <= step.at) batch = view.batches[next++]!;
    step.batch = batch;
  }
  return steps;
}

function chunkStep({ at, step_us, start, end, total, num_sequences }: PrefillAdvanced): EngineStep {
  const numGiven = end === total ? 1 : 0;
  return {
    kind: "prefill",
    at,
    us: step_us,
    numOwn: end - start,
    numGiven,
    numSequences: num_sequences,
    batch: null,
  };
}

/** One for each pass that gave tokens, but for those that came out of a prompt's last chunk. */
function decodeSteps({ tokens, prefill, drafts }: TraceView): EngineStep[] {
  const ends = prefill.filter(({ end, total }) => end === total);
  const found: EngineStep[] = [];
  let end = -1;
  for (const token of tokens) {
    if (token.position < end) {
      const step = found.at(-1);
      if (step) step.numGiven++;
      continue;
    }
    const pass = drafts.passes.get(token.position);
    end = pass ? pass.first + pass.size : token.position + 1;
    if (ends.some((chunk) => isOf(chunk, token, tokens[0]!))) continue;
    found.push({
      kind: "decode",
      at: token.at,
      us: token.step_us,
      numOwn: 1 + (pass?.numGuesses ?? 0),
      numGiven: 1,
      numSequences: token.batch_size,
      batch: null,
    });
  }
  return found;
}

/** The chunk's event lies within the step that gave the token. Without step times, only the first token does. */
function isOf(chunk: PrefillAdvanced, token: TokenSampled, first: TokenSampled): boolean {
  if (token.step_us === null) return token === first;
  return chunk.at <= token.at && chunk.at > token.at - token.step_us;
}

/** Null: not reported. A trace may have the batch without the others' work. */
export function numOthers({ batch, numSequences }: EngineStep): number | null {
  if (batch?.num_decoding != null) return batch.num_decoding + (batch.num_prefilling ?? 0);
  return numSequences === null ? null : numSequences - 1;
}

export interface BatchCost {
  numAlone: number;
  numBatched: number;
  /** Median duration of a decode step that gave one token, µs; null: there was none. */
  alone: number | null;
  batched: number | null;
  /** Extra time of the batched steps over as many alone, µs; null: one of the two was never seen. */
  extra: number | null;
}

/** From this request's own decode steps without guesses: the time alone is known only if it ever ran alone. */
export function batchCost(steps: EngineStep[]): BatchCost {
  const known = steps.filter((step) => numOthers(step) !== null);
  const plain = known.filter(({ kind, numOwn, us }) => kind === "decode" && numOwn === 1 && us !== null);
  const alone = plain.filter((step) => numOthers(step) === 0).map(({ us }) => us!);
  const batched = plain.filter((step) => numOthers(step)! > 0).map(({ us }) => us!);
  const usual = median(alone);
  return {
    numAlone: known.filter((step) => numOthers(step) === 0).length,
    numBatched: known.filter((step) => numOthers(step)! > 0).length,
    alone: usual,
    batched: median(batched),
    extra:
      usual === null || !batched.length
        ? null
        : Math.max(0, batched.reduce((sum, us) => sum + us, 0) - usual * batched.length),
  };
}

export function median(values: number[]): number | null {
  if (!values.length) return null;
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
