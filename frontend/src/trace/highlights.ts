/** What one looks at first when an answer is there: its closest call, its oddest word, and the longest wait for it. */
import type { TokenSampled } from "../protocol/events";
import { pieceLabel } from "./bytes";
import { SCENES, type SceneId } from "./scenes";
import type { TraceView } from "./view";

/** A token that the model would have had otherwise with nearly the same probability. */
export interface Call {
  position: number;
  token: TokenSampled;
  /** The model's own probabilities of the first two candidates, before any setting. */
  first: number;
  second: number;
}

/** A call between words before one between signs. */
export function closestCall({ tokens }: TraceView): Call | null {
  const words = tokens.filter(({ candidate_pieces }) => candidate_pieces.slice(0, 2).every(isWord));
  return closestOf(words) ?? closestOf(tokens);
}

function closestOf(tokens: readonly TokenSampled[]): Call | null {
  let found: Call | null = null;
  for (const token of tokens) {
    const [first, second] = likeliest(token);
    if (first === undefined || second === undefined || token.is_special) continue;
    if (!found || second / first > found.second / found.first)
      found = { position: token.position, token, first, second };
  }
  return found;
}

const isWord = (piece: string): boolean => /[\p{L}\p{N}]/u.test(pieceLabel(piece));

/** Of the first two candidates, in the order of the model's own probability. */
function likeliest({ candidate_logits, log_normalizer }: TokenSampled): number[] {
  if (log_normalizer === null) return [];
  return candidate_logits
    .filter((logit) => logit !== null)
    .map((logit) => Math.exp(logit - log_normalizer))
    .sort((a, b) => b - a)
    .slice(0, 2);
}

/** The token that the model held least likely; null: no probability is known. */
export function oddestToken({ tokens }: TraceView): TokenSampled | null {
  return tokens.reduce<TokenSampled | null>((oddest, token) => {
    if (token.logprob === null || token.is_special) return oddest;
    return oddest === null || token.logprob < oddest.logprob! ? token : oddest;
  }, null);
}

export interface Wait {
  scene: SceneId;
  title: string;
  /** µs. */
  spent: number;
}

/** The stretch between two recorded moments that took longest before the first token. */
export function longestWait(view: TraceView): Wait | null {
  const moments = momentsOf(view);
  let from = 0;
  let found: Wait | null = null;
  for (const { scene, at } of moments) {
    const spent = at - from;
    if (spent > (found?.spent ?? 0))
      found = { scene, title: SCENES.find(({ id }) => id === scene)!.title, spent };
    from = Math.max(from, at);
  }
  return found;
}

/** When each scene before the first token had ended, in order. */
function momentsOf({ gateway, context, prompt, inputCheck, started, tokens }: TraceView) {
  const known: [SceneId, number | undefined][] = [
    ["message", gateway?.at],
    ["window", context?.at],
    ["tokens", prompt?.at],
    ["check", inputCheck?.at],
    ["queue", started?.at],
    ["prefill", tokens[0]?.at],
  ];
  return known
    .flatMap(([scene, at]) => (at === undefined ? [] : [{ scene, at }]))
    .sort((a, b) => a.at - b.at);
}
