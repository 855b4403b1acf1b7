/** Tokens that stand out in the answer: a draw far less likely than is usual at its place, and words that repeat. */
import {
  REPETITION_CYCLES,
  REPETITION_TOKENS,
  LONGEST_CYCLE,
  type TokenSampled,
} from "../../protocol/events";
import { counted, percent } from "../format";
import { columns, isGreedy } from "../sampling/probability";
import { tokenName } from "../token-name";
import type { TraceView } from "../view";
import type { Finding } from "./finding";

/**
 * Nats by which a token's surprise exceeds the one expected there (the entropy): e^3 = 20 times less likely than is
 * typical at its place (the measure of locally typical sampling, arXiv 2202.00666).
 */
const ODD_NATS = 3;
/** Nats beyond the expected surprise that count as the oddest: one in 22,000. */
const MOST_NATS = 10;
/** Tokens in a row that repeat earlier ones; fewer may be a turn of phrase. */
const SAME_TOKENS = 8;
/** Least repeated share to report, and least tokens of the answer: the items of a list may begin alike. */
const SAME_SHARE = 1 / 3;
const SAME_LEAST = 96;

export function wordings(view: TraceView): Finding[] {
  const cycles = cycle(view);
  return [...oddDraw(view), ...(cycles.length ? cycles : repeatedRuns(view))];
}

/** Surprise beyond the expected one, in nats; null: the server does not report both. */
function excess({ logprob, entropy }: TokenSampled): number | null {
  return logprob === null || entropy === null ? null : -logprob - entropy;
}

function oddDraw(view: TraceView): Finding[] {
  const odd = view.tokens
    .flatMap((token) => {
      const nats = excess(token);
      return nats !== null && nats >= ODD_NATS && token.chosen_by === "draw" ? [{ token, nats }] : [];
    })
    .sort((a, b) => b.nats - a.nats);
  const [worst] = odd;
  if (!worst) return [];
  const { token, nats } = worst;
  const name = `“${tokenName(view, token.id, token.piece, token)}”`;
  const others =
    odd.length > 1
      ? `; ${counted(odd.length - 1, "more token")} ${odd.length === 2 ? "is" : "are"} as odd`
      : "";
  return [
    {
      kind: "odd",
      sentence: `Token ${token.position + 1}, ${name}, ${howChosen(view, token)}${others}.`,
      weight: Math.min(1, nats / MOST_NATS),
      position: token.position,
    },
  ];
}

/** The token's own probability, the model's likeliest token, and the reason why that one was not chosen. */
function howChosen(view: TraceView, token: TokenSampled): string {
  const given = percent(Math.exp(token.logprob!));
  const rather = favourite(view, token);
  const than = rather ? `, and ${rather}` : "";
  const bent = (token.processors ?? []).filter(
    ({ name, masked, logits }) => BENT[name] && (masked.length || logits),
  );
  if (isGreedy(token) || bent.length)
    return `was not the model's own choice: the model gave it ${given}${than}${bent.length ? `. The settings decided otherwise: ${bent.map(({ name }) => BENT[name]).join(" and ")}` : ""}`;
  const { temperature = 1 } = view.accepted?.params ?? {};
  return `was an unlikely draw: the model gave it ${given}${than}${temperature > 1 ? ` (the temperature of ${temperature} makes such draws likelier)` : ""}`;
}

const BENT: Record<string, string> = {
  grammar: "the grammar",
  banned_tokens: "the banned tokens",
  logit_bias: "the logit bias",
  penalties: "the penalties",
  dry: "DRY, which holds repetitions back",
};

/** The model's likeliest token with its probability; null: it is the drawn token, or not recorded. */
function favourite(view: TraceView, token: TokenSampled): string | null {
  if (!token.candidate_ids.length || !view.accepted) return null;
  const model = columns(token, view.accepted.params)[0]!.probabilities;
  const best = model.reduce<number>((a, value, index) => ((value ?? 0) > (model[a] ?? 0) ? index : a), 0);
  if (token.candidate_ids[best] === token.id) return null;
  const name = tokenName(view, token.candidate_ids[best]!, token.candidate_pieces[best]!, token);
  return `“${name}” ${percent(model[best] ?? 0)}`;
}

export interface Cycle {
  /** Index of its first token. */
  start: number;
  /** Tokens of the cycle. */
  size: number;
  times: number;
}

/** The shortest cycle that the last ids repeat, by the worker's own rule; null: they repeat none. */
export function cycleOf(ids: number[]): Cycle | null {
  for (let size = 1; size <= LONGEST_CYCLE; size++) {
    let start = ids.length - size;
    while (start > 0 && ids[start - 1] === ids[start - 1 + size]) start--;
    const length = ids.length - start;
    if (start >= 0 && length >= REPETITION_CYCLES * size && length >= REPETITION_TOKENS)
      return { start, size, times: Math.floor(length / size) };
  }
  return null;
}

function cycle({ tokens, accepted, generation }: TraceView): Finding[] {
  const ids = tokens.filter(({ is_special }) => !is_special).map(({ id }) => id);
  const found = cycleOf(ids);
  if (!found) return [];
  const { start, size, times } = found;
  const position = tokens.filter(({ is_special }) => !is_special)[start]!.position;
  const why =
    accepted?.params.temperature === 0 ? ". At temperature 0 no random draw can break the loop" : "";
  const end = generation?.finish_reason === "repetition" ? ", so the worker ended it" : "";
  return [
    {
      kind: "loop",
      sentence: `The answer repeats itself from token ${position + 1} on: the same ${counted(size, "token")} ${times} times${end}${why}.`,
      weight: (ids.length - start) / ids.length,
      position,
    },
  ];
}

/** Number of ids in runs of SAME_TOKENS that appeared before, and the index of the first such run; -1: none. */
export function repeated(ids: number[]): { count: number; first: number } {
  const known = new Set<string>();
  const again = new Set<number>();
  let first = -1;
  for (let start = 0; start + SAME_TOKENS <= ids.length; start++) {
    const run = ids.slice(start, start + SAME_TOKENS).join();
    if (known.has(run)) {
      if (first < 0) first = start;
      for (let index = start; index < start + SAME_TOKENS; index++) again.add(index);
    }
    known.add(run);
  }
  return { count: again.size, first };
}

function repeatedRuns({ tokens }: TraceView): Finding[] {
  const written = tokens.filter(({ is_special }) => !is_special);
  const { count, first } = repeated(written.map(({ id }) => id));
  const share = count / written.length;
  if (written.length < SAME_LEAST || share < SAME_SHARE) return [];
  return [
    {
      kind: "loop",
      sentence: `The answer repeats itself: ${percent(share)} of it appears earlier in it, ${SAME_TOKENS} or more tokens in a row.`,
      weight: share,
      position: written[first]!.position,
    },
  ];
}
