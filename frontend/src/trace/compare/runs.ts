/** A run's results, and the findings of all runs together. Knows nothing of how they are fetched. */
import { commonStart } from "./diff";
import { answerTokens, idsOf } from "./divergence";
import { endText } from "./figures";
import { count, counted, money } from "../format";
import { outcomeOf, type Outcome } from "../outcome";
import { answerPieces, answerText, numRead, type TraceView } from "../view";

/** One run's answer, without the candidates of its tokens: a set may have 64 of them. */
export interface RunAnswer {
  index: number;
  requestId: string;
  ids: number[];
  pieces: string[];
  /** Chances by the model alone, before any setting; null: not reported, or taken over and not sampled here. */
  chances: (number | null)[];
  text: string;
  outcome: Outcome;
  ending: string;
  /** Mean log-probability of its tokens under the model's own distribution; null: not reported. */
  meanLogprob: number | null;
  firstToken: number | null;
  duration: number;
  cost: number | null;
  currency: string;
  /** Tokens read, those that a fork took over included. */
  numPrompt: number | null;
  /** Null: not known. */
  numCached: number | null;
  /** The extra cost of the cached tokens if they were computed; null where a price is not on the bill. */
  savedNano: number | null;
  compute: string;
}

export function answerOf(view: TraceView, index: number, requestId: string): RunAnswer {
  const { tokens, bill, cache, generation, prompt, started } = view;
  const logprobs = tokens.flatMap(({ logprob }) => logprob ?? []);
  return {
    index,
    requestId,
    ids: idsOf(view),
    pieces: answerPieces(view).map(({ piece }) => piece),
    chances: answerTokens(view).map(({ sampled }) => chanceOf(sampled?.logprob ?? null)),
    text: answerText(view),
    outcome: outcomeOf(view),
    ending: endText(view),
    meanLogprob: logprobs.length && logprobs.length === tokens.length ? mean(logprobs) : null,
    firstToken: tokens[0]?.at ?? null,
    duration: view.at,
    cost: bill?.total_nano ?? null,
    currency: bill?.currency ?? "",
    numPrompt: prompt ? numRead(view) : null,
    numCached: generation?.is_cache_known ? (cache?.num_cached_tokens ?? null) : null,
    savedNano: savedOf(view),
    compute: started
      ? (started.server ?? [started.quantization, started.compute, started.device].join(", "))
      : "",
  };
}

const chanceOf = (logprob: number | null) => (logprob === null ? null : Math.exp(logprob));

function savedOf({ bill }: TraceView): number | null {
  const line = (kind: string) => bill?.lines.find((each) => each.kind === kind);
  const [computed, cached] = [line("uncached_input"), line("cache_read")];
  if (!computed || !cached) return null;
  return cached.num_tokens * (computed.unit_price_nano - cached.unit_price_nano);
}

function mean(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

export function median(values: number[]): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (!sorted.length) return null;
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/**
 * True when the answer counts: it came to its end, be it the model's own, the limit of tokens or the safety check's. A
 * stopped or failed answer does not count.
 */
export function isWhole({ ids, outcome }: Pick<RunAnswer, "ids" | "outcome">): boolean {
  return ids.length > 0 && !["running", "stopped", "failed"].includes(outcome);
}

export interface RunEnd {
  state: string;
  /** True when the run's request was ever sent. */
  hasRequest: boolean;
  /** Null: there is none, or it is not read. */
  answer: Pick<RunAnswer, "ids" | "outcome"> | null;
}

/** The endings of runs without a whole answer. */
const SHORT_ENDS = ["stopped", "failed", "blocked", "withheld"] as const;

const endedWords = (num: number, state: (typeof SHORT_ENDS)[number]) =>
  `${counted(num, "run")} ${state === "failed" ? "failed" : `${num === 1 ? "was" : "were"} ${state}`}`;

/** The number of ended runs without a whole answer, and their progress; empty where all have one. */
export function leftOutSentence(runs: RunEnd[]): string {
  const told = SHORT_ENDS.flatMap((state) => {
    const ended = runs.filter((run) => run.state === state && !(run.answer && isWhole(run.answer)));
    const num = ended.length;
    const begun = ended.filter(({ answer }) => answer?.ids.length).length;
    const unread = ended.filter(({ hasRequest, answer }) => hasRequest && !answer).length;
    const before = num - begun - unread;
    const where = [
      begun ? `${count(begun)} in the middle of an answer` : "",
      before ? `${count(before)} before its first token` : "",
      unread ? `${count(unread)} not read` : "",
    ].filter(Boolean);
    return num ? `${endedWords(num, state)}, ${where.join(" and ")}` : [];
  });
  return told.length ? `${told.join("; ")}: the results below leave them out.` : "";
}

export interface AnswerGroup {
  ids: number[];
  /** The runs with this very answer, in their order. */
  runs: RunAnswer[];
}

/** Identical answers together, token for token; the most frequent first, then the earliest. */
export function groupAnswers(answers: RunAnswer[]): AnswerGroup[] {
  const groups = new Map<string, AnswerGroup>();
  for (const answer of [...answers].sort((a, b) => a.index - b.index)) {
    const key = answer.ids.join(" ");
    const group = groups.get(key);
    if (group) group.runs.push(answer);
    else groups.set(key, { ids: answer.ids, runs: [answer] });
  }
  return [...groups.values()].sort((a, b) => b.runs.length - a.runs.length);
}

/** A sentence on whether runs with the saved request's own seed and settings gave its very tokens. */
export function repeatSentence(runs: RunAnswer[], saved: RunAnswer): string {
  const differing = runs.filter((run) => run.ids.join() !== saved.ids.join());
  const whole = counted(saved.ids.length, "token");
  if (!differing.length)
    return runs.length === 1
      ? `The run gave the saved answer again, token for token: ${whole}.`
      : `All ${runs.length} runs gave the saved answer again, token for token: ${whole}.`;
  const first = Math.min(...differing.map((run) => commonStart(run.ids, saved.ids)));
  const who = runs.length === 1 ? "The run" : `${differing.length} of ${runs.length} runs`;
  const others = [...new Set(differing.map(({ compute }) => compute))].filter(
    (each) => each !== saved.compute,
  );
  const why = others.length
    ? `The computation differs (${saved.compute || "not recorded"}; now ${others.join("; ")}), which can change the last digits of a probability.`
    : differing.some(({ outcome }) => outcome !== saved.outcome)
      ? "They did not end in the same way."
      : "The traces do not record why.";
  return `${who} ${differing.length === 1 ? "differs" : "differ"} from the saved answer, first at token ${count(first + 1)}. ${why}`;
}

/** The number of answers, and the length of their common beginning. */
export function spreadSentence(answers: RunAnswer[]): string {
  const written = answers.filter(({ ids }) => ids.length);
  if (!written.length) return "No run has an answer.";
  const groups = groupAnswers(written);
  if (written.length === 1) return "One run has an answer.";
  if (groups.length === 1) return `All ${written.length} answers are the same, token for token.`;
  const shared = Math.min(...written.map(({ ids }) => commonStart(written[0]!.ids, ids)));
  const most = groups[0]!.runs.length;
  const often = most > 1 ? `, the most frequent of them ${most} times` : ", each of them once";
  const where = shared
    ? `; all begin with the same ${shared === 1 ? "token" : `${count(shared)} tokens`}`
    : "; they differ from the first token on";
  return `${groups.length} different answers from ${written.length} runs${often}${where}.`;
}

/**
 * The tokens that the prefix cache spared the set. Not the time: a run's recorded saving is an estimate from the speed
 * of other prompts, and runs that wait for one another need not have gained it.
 */
export function cacheShareSentence(answers: RunAnswer[]): string {
  const known = answers.filter(({ numCached, numPrompt }) => numCached !== null && numPrompt !== null);
  if (!known.length) return "";
  const sum = (of: (run: RunAnswer) => number | null) =>
    known.reduce((total, run) => total + (of(run) ?? 0), 0);
  const cached = sum(({ numCached }) => numCached);
  const all = sum(({ numPrompt }) => numPrompt);
  const spared = known.every(({ savedNano }) => savedNano !== null)
    ? sum(({ savedNano }) => savedNano)
    : null;
  const told = `${count(cached)} of ${count(all)} prompt tokens came from the prefix cache`;
  return spared && cached ? `${told}, which saved ${money(spared, known[0]!.currency)}.` : `${told}.`;
}
